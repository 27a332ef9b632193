#include "program/wire.h"

#include <algorithm>

#include "collectives/reshard.h"
#include "runtime/base/check.h"
#include "runtime/blocks.h"

namespace shardline {
namespace {

/// Every rank sends each of the others its piece: what collectives::traffic() derives from the schedules of `pairwise`,
/// in closed form, so that the largest meshes are priced at once. `larger` as there.
collectives::Traffic pairwise(StepKind kind, Index ranks, Index larger) {
  const Index largest = block(larger, ranks, 0).size();
  const Index smallest = block(larger, ranks, ranks - 1).size();
  const Index steps = larger == 0 ? 0 : ranks - 1;
  switch (kind) {
    case StepKind::all_gather:
      return {steps, (ranks - 1) * largest};
    case StepKind::reduce_scatter:
    case StepKind::all_to_all:
      return {steps, larger - smallest};
    case StepKind::all_reduce:
      return {2 * steps, larger + (ranks - 2) * largest};
    default:
      throw Error("no collective of ranks that all send to each other");
  }
}

/// The largest mesh on which every message of a reshard is counted.
constexpr Index kMostPlanned = 64;

/// Elements that `rank` sends in a reshard.
Index sent(const Shape& shape, const Sharding& from, const Sharding& to, const AbstractMesh& mesh, Index rank) {
  const collectives::ReshardPlan plan = collectives::reshard_plan(shape, from, to, mesh, rank);
  Index elements = 0;
  for (std::size_t q = 0; q < plan.sends.size(); ++q) {
    if (static_cast<Index>(q) != plan.position) elements += element_count(collectives::extents(plan.sends[q]));
  }
  return elements;
}

/// Elements that `rank` receives in a reshard: what it wants and does not hold.
Index received(const Shape& shape, const Sharding& from, const Sharding& to, const AbstractMesh& mesh, Index rank) {
  const std::vector<Range> held = box(shape, from, mesh, rank);
  const std::vector<Range> wanted = box(shape, to, mesh, rank);
  Index all = 1;
  Index kept = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    all *= wanted[d].size();
    kept *= std::max<Index>(0, std::min(held[d].end, wanted[d].end) - std::max(held[d].begin, wanted[d].begin));
  }
  return all - kept;
}

/// Elements that the busiest rank sends in a reshard. On a large mesh, of which the plans are many and long, what some
/// ranks receive stands for it: all ranks together send as much as they receive.
Index resharded(const RankProgram& program, const Step& step) {
  const Version& from = program.version(step.operands[0]);
  const Version& to = program.version(step.results[0]);
  const Shape& shape = program.program.array(from.array).shape;
  const Index ranks = program.mesh.ranks();
  const Index counted = std::min(ranks, kMostPlanned);
  Index most = 0;
  for (Index i = 0; i < counted; ++i) {
    const Index rank = (i + 1) * ranks / counted - 1;
    const auto elements = ranks <= kMostPlanned ? sent : received;
    most = std::max(most, elements(shape, from.sharding, to.sharding, program.mesh, rank));
  }
  return most;
}

Index remembered(const RankProgram& program, const Step& step, ReshardMemo& memo) {
  const Version& from = program.version(step.operands[0]);
  const auto [entry, added] = memo.try_emplace(
      {program.program.array(from.array).shape, from.sharding, program.version(step.results[0]).sharding}, 0);
  if (added) entry->second = resharded(program, step);
  return entry->second;
}

}  // namespace

collectives::Traffic wire_traffic(const RankProgram& program, const Step& step, Index element_size, ReshardMemo* memo) {
  const Index ranks = program.mesh.size(step.axes);
  const Index larger = std::max(element_count(local_shape(program, step.operands[0], 0)),
                                element_count(local_shape(program, step.results[0], 0)));
  switch (step.kind) {
    case StepKind::all_gather:
    case StepKind::reduce_scatter:
    case StepKind::all_reduce:
    case StepKind::all_to_all: {
      const collectives::Traffic elements = pairwise(step.kind, ranks, larger);
      return {elements.steps, elements.wire_bytes * element_size};
    }
    case StepKind::reshard:
      return {ranks - 1,
              (memo != nullptr ? remembered(program, step, *memo) : resharded(program, step)) * element_size};
    case StepKind::slice:
    case StepKind::owe:
      return {};
    case StepKind::compute:
      break;
  }
  throw Error("a computation moves nothing between ranks");
}

void name_wires(RankProgram& program, const ElementTypes& types, collectives::Wire wire) {
  for (Step& step : program.steps) {
    if (step.kind != StepKind::reduce_scatter && step.kind != StepKind::all_reduce) continue;
    const bool rounds = types.of(program.program, program.version(step.operands[0]).array) == DType::bf16;
    step.wire = rounds ? wire : collectives::Wire::automatic;
  }
}

}  // namespace shardline
