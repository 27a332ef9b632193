#include "program/ops/expert_places.h"

#include <algorithm>

namespace shardline {

ArrayId add_integers(Program& program, const std::string& name, const Dims& dims) {
  const ArrayId made = program.add_array(name, dims);
  program.array(made).dtype = DType::i32;
  return made;
}

double taken_share(const Program& program) {
  const auto size = [&](const char* dim) { return static_cast<double>(program.sizes.at(dim)); };
  return std::min(1.0, size("T") * size("J") / std::max(1.0, size("E") * size("C")));
}

void set_taken(Program& program, ArrayId array, ArrayId taken) {
  program.array(array).rows = taken;
  program.array(array).rows_share = taken_share(program);
}

double taken_rows(const PhaseBlock& block) {
  const Index places = block.range("E").size() * block.range("B").size() * block.range("C").size();
  return block.constant(kTakenShare) * static_cast<double>(places);
}

bool shares_tokens(const PhaseBlock& block) {
  const auto t = static_cast<std::size_t>(block.operation.index_named("T"));
  return block.ranges.at(t).size() < block.operation.extents.at(t);
}

}  // namespace shardline
