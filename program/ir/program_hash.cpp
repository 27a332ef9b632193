#include "program/ir/program_hash.h"

#include <fmt/format.h>

#include <string>

#include "program/ir/print.h"
#include "runtime/base/hash.h"

namespace shardline {

std::uint64_t hash_of(const RankProgram& program) {
  std::string text;
  for (const Step& step : program.steps) text += fmt::format("{} {}\n", to_string(program, step), step.tag);
  for (const Array& array : program.program.arrays) {
    text += to_string(array.shape);
    text += name_of(array.dtype);
  }
  for (const Operation& op : program.program.operations) {
    for (const auto& [name, value] : op.constants) text += fmt::format("{} {};", name, value);
  }
  return hash_of(text);
}

}  // namespace shardline
