#include "program/wire.h"

#include <algorithm>

#include "collectives/reshard.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Elements that the busiest rank sends in a reshard.
Index resharded(const RankProgram& program, const Step& step) {
  const Version& from = program.version(step.operands[0]);
  const Version& to = program.version(step.results[0]);
  const Shape& shape = program.program.array(from.array).shape;
  Index most = 0;
  for (Index rank = 0; rank < program.mesh.ranks(); ++rank) {
    const collectives::ReshardPlan plan =
        collectives::reshard_plan(shape, from.sharding, to.sharding, program.mesh, rank);
    Index sent = 0;
    for (std::size_t q = 0; q < plan.sends.size(); ++q) {
      if (static_cast<Index>(q) != plan.position) sent += element_count(collectives::extents(plan.sends[q]));
    }
    most = std::max(most, sent);
  }
  return most;
}

}  // namespace

collectives::Traffic wire_traffic(const RankProgram& program, const Step& step, Index element_size) {
  const Index ranks = program.mesh.size(step.axes);
  const Index larger = std::max(element_count(local_shape(program, step.operands[0], 0)),
                                element_count(local_shape(program, step.results[0], 0)));
  const auto exchange = [&](collectives::Kind kind) {
    return collectives::traffic(kind, collectives::Algorithm::pairwise, {ranks}, larger, {element_size, element_size});
  };
  switch (step.kind) {
    case StepKind::all_gather:
      return exchange(collectives::Kind::all_gather);
    case StepKind::reduce_scatter:
      return exchange(collectives::Kind::reduce_scatter);
    case StepKind::all_reduce:
      return exchange(collectives::Kind::all_reduce);
    case StepKind::all_to_all:
      return exchange(collectives::Kind::all_to_all);
    case StepKind::reshard:
      return {ranks - 1, resharded(program, step) * element_size};
    case StepKind::slice:
    case StepKind::owe:
      return {};
    case StepKind::compute:
      break;
  }
  throw Error("a computation moves nothing between ranks");
}

void name_wires(RankProgram& program, const ElementTypes& types) {
  for (Step& step : program.steps) {
    if (step.kind != StepKind::reduce_scatter && step.kind != StepKind::all_reduce) continue;
    const bool rounds = types.of(program.program, program.version(step.operands[0]).array) == DType::bf16;
    step.wire = rounds ? collectives::Wire::exchange : collectives::Wire::automatic;
  }
}

Index wire_bytes(const RankProgram& program, const ElementTypes& types) {
  Index sum = 0;
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::compute) continue;
    const ArrayId array = program.version(step.operands[0]).array;
    sum += wire_traffic(program, step, size_of(types.of(program.program, array))).wire_bytes;
  }
  return sum;
}

}  // namespace shardline
