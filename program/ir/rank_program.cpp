#include "program/ir/rank_program.h"

#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline {

std::string kind_name(const RankProgram& program, const Step& step) {
  switch (step.kind) {
    case StepKind::compute:
      return std::string(program.phase_of(step).kernel->name);
    case StepKind::all_gather:
      return "all_gather";
    case StepKind::reduce_scatter:
      return "reduce_scatter";
    case StepKind::all_reduce:
      return "all_reduce";
    case StepKind::all_to_all:
      return "all_to_all";
    case StepKind::reshard:
      return "reshard";
    case StepKind::slice:
      return "slice";
    case StepKind::owe:
      return "owe";
    case StepKind::send:
      return "send";
    case StepKind::receive:
      return "receive";
  }
  throw Error("unknown step kind");
}

Shape local_shape(const RankProgram& program, VersionId version, Index rank) {
  return local_shape(program.array_of(version).shape, program.version(version).sharding, program.mesh, rank);
}

Bytes local_bytes(const RankProgram& program, VersionId version, Index rank) {
  // In floating point: the bytes of arrays that no machine can hold would overflow.
  const auto elements = static_cast<double>(element_count(local_shape(program, version, rank)));
  return Bytes(elements * static_cast<double>(size_of(program.array_of(version).dtype)));
}

std::vector<Range> index_ranges(const RankProgram& program, const Step& step, Index rank) {
  const Operation& op = program.operation_of(step);
  const Coordinates coordinates = program.mesh.coordinates(rank);
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < op.indices.size(); ++i) {
    ranges.push_back(nested_block(op.extents[i], step.splits[i], program.mesh, coordinates));
  }
  return ranges;
}

}  // namespace shardline
