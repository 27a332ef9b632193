#include "program/ir/kernel.h"

#include <algorithm>

#include "program/ir/program.h"
#include "runtime/base/check.h"

namespace shardline {

Range PhaseBlock::range(const std::string& name) const {
  const auto found = std::find(operation.indices.begin(), operation.indices.end(), name);
  SHARDLINE_CHECK(found != operation.indices.end(), "operation {} has no index {}", operation.kind, name);
  return ranges[static_cast<std::size_t>(found - operation.indices.begin())];
}

std::size_t PhaseBlock::last_index() const { return static_cast<std::size_t>(phase.operand_subscripts[0].back()); }
Index PhaseBlock::last_extent() const { return operation.extents[last_index()]; }
Range PhaseBlock::last_range() const { return ranges[last_index()]; }

double PhaseBlock::constant(const std::string& name) const {
  const auto found = operation.constants.find(name);
  SHARDLINE_CHECK(found != operation.constants.end(), "operation {} has no constant {}", operation.kind, name);
  return found->second;
}

Shape PhaseBlock::shape(std::size_t k) const {
  Shape shape;
  for (const int index : phase.operand_subscripts[k]) shape.push_back(ranges[static_cast<std::size_t>(index)].size());
  return shape;
}

Index PhaseBlock::operand_size(std::size_t k) const { return size_of(program.array(phase.operands.at(k)).dtype); }

Index PhaseBlock::element_size() const { return size_of(program.array(phase.results.at(0)).dtype); }

}  // namespace shardline
