#include "program/ir/program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "runtime/base/check.h"

namespace shardline {

int Operation::index_named(std::string_view name) const {
  const auto found = std::find(indices.begin(), indices.end(), name);
  return found == indices.end() ? -1 : static_cast<int>(found - indices.begin());
}

ArrayId Program::find(const std::string& name) const {
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const Array& a) { return a.name == name; });
  SHARDLINE_CHECK(found != arrays.end(), "the program has no array {}", name);
  return static_cast<ArrayId>(found - arrays.begin());
}

ArrayId Program::add_array(const std::string& name, const std::vector<std::string>& dims, Role role) {
  Array array;
  array.name = name;
  array.dims = dims;
  array.role = role;
  const bool counts = role == Role::tokens || role == Role::positions;
  array.dtype = counts ? DType::i32 : role == Role::whole ? sum_type(dtype) : dtype;
  for (const std::string& dim : dims) {
    const auto size = sizes.find(dim);
    require(size != sizes.end(), "array {}: dim {} has no size", name, dim);
    array.shape.push_back(size->second);
  }
  arrays.push_back(std::move(array));
  return static_cast<ArrayId>(arrays.size()) - 1;
}

ArrayId Program::add_input(const std::string& name, const std::vector<std::string>& dims, Role role) {
  inputs.push_back(add_array(name, dims, role));
  return inputs.back();
}

void prune(Program& program) {
  std::set<ArrayId> live(program.outputs.begin(), program.outputs.end());
  for (const auto& [before, after] : program.updates) live.insert(after);
  std::vector<Operation> kept;
  for (auto op = program.operations.rbegin(); op != program.operations.rend(); ++op) {
    for (const ArrayId result : op->results) {
      if (live.count(result) > 0 && program.array(result).rows >= 0) live.insert(program.array(result).rows);
    }
    const bool needed =
        std::any_of(op->results.begin(), op->results.end(), [&](ArrayId a) { return live.count(a) > 0; });
    if (!needed) continue;
    live.insert(op->operands.begin(), op->operands.end());
    kept.push_back(std::move(*op));
  }
  std::reverse(kept.begin(), kept.end());
  program.operations = std::move(kept);
}

std::string to_string(const Array& array) { return fmt::format("{}[{}]", array.name, fmt::join(array.dims, ", ")); }

}  // namespace shardline
