#include "program/price/wire.h"

#include <algorithm>
#include <cmath>

#include "collectives/schedule/packing.h"
#include "collectives/schedule/reshard_plan.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

/// The blocks of a dim over the axes of a conversion, in rank 0's group, which has the largest
/// ones.
struct Cuts {
  Index whole = 0;
  Index largest = 0;
  Index smallest = 0;
};

Cuts cuts(const RankProgram& program, const Step& step, Index whole) {
  const AbstractMesh& mesh = program.mesh;
  return {whole, nested_block(whole, step.axes, mesh, mesh.coordinates(0)).size(),
          nested_block(whole, step.axes, mesh, mesh.coordinates(mesh.ranks() - 1)).size()};
}

/// Elements of an array of `shape` per position of dim `dim`.
Index beside(const Shape& shape, int dim) {
  Index all = 1;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    if (d != dim) all *= shape[static_cast<std::size_t>(d)];
  }
  return all;
}

/// True if blocks of `dim` are not contiguous: an outer dim has several positions, and some block
/// is neither empty nor whole.
bool scattered(const Shape& shape, int dim, Index largest_block) {
  const bool inner = std::any_of(shape.begin(), shape.begin() + dim, [](Index n) { return n > 1; });
  return inner && largest_block < shape[static_cast<std::size_t>(dim)];
}

Moved of_all_gather(const RankProgram& program, const Step& step) {
  const Shape whole = local_shape(program, step.results[0], 0);
  const Index each = beside(whole, step.from_dim);
  const Cuts dim = cuts(program, step, whole[static_cast<std::size_t>(step.from_dim)]);
  const Index ranks = program.mesh.size(step.axes);
  Moved moved{.sent = (ranks - 1) * dim.largest * each,
              .received = (dim.whole - dim.smallest) * each,
              .kept = dim.largest * each};
  if (scattered(whole, step.from_dim, dim.largest)) moved.packed = moved.received;
  return moved;
}

Moved of_reduce_scatter(const RankProgram& program, const Step& step) {
  const Shape whole = local_shape(program, step.operands[0], 0);
  const Index each = beside(whole, step.to_dim);
  const Cuts dim = cuts(program, step, whole[static_cast<std::size_t>(step.to_dim)]);
  const Index ranks = program.mesh.size(step.axes);
  Moved moved{.sent = (dim.whole - dim.smallest) * each, .received = (ranks - 1) * dim.largest * each};
  moved.added = moved.received;
  if (scattered(whole, step.to_dim, dim.largest)) moved.packed = dim.whole * each;
  return moved;
}

/// A reduce_scatter of chunks of the flat array, then an all_gather of the chunks.
Moved of_all_reduce(const RankProgram& program, const Step& step) {
  const Index ranks = program.mesh.size(step.axes);
  const Index elements = element_count(local_shape(program, step.operands[0], 0));
  const Index largest = block(elements, ranks, 0).size();
  const Index both = elements + (ranks - 2) * largest;
  return {.sent = both, .received = both, .added = (ranks - 1) * largest};
}

/// What moves of the rows in use, if the expected share of them is. Messages of them are packed on both sides.
Moved in_use(const Moved& all, double share) {
  const auto part = [&](Index elements) {
    return static_cast<Index>(std::ceil(share * static_cast<double>(elements)));
  };
  return {.sent = part(all.sent),
          .received = part(all.received),
          .kept = part(all.kept),
          .packed = part(all.sent + all.received)};
}

Moved of_all_to_all(const RankProgram& program, const Step& step) {
  const auto from = static_cast<std::size_t>(step.from_dim);
  const auto to = static_cast<std::size_t>(step.to_dim);
  Shape in = local_shape(program, step.operands[0], 0);
  Shape out = local_shape(program, step.results[0], 0);
  const Index gathered = out[from];
  const Index split = in[to];
  const Index others = beside(in, step.from_dim) / std::max<Index>(1, split);
  const std::vector<Range> held = nested_blocks(gathered, step.axes, program.mesh);
  const std::vector<Range> wanted = nested_blocks(split, step.axes, program.mesh);
  Moved most;
  for (std::size_t position = 0; position < held.size(); ++position) {
    in[from] = held[position].size();
    out[to] = wanted[position].size();
    const Index kept = in[from] * out[to] * others;
    const Index sent = element_count(in) - kept;
    const Index received = element_count(out) - kept;
    Index packed = 0;
    if (scattered(in, step.to_dim, wanted[0].size())) packed += element_count(in);
    if (scattered(out, step.from_dim, held[0].size())) packed += received;
    most = {.sent = std::max(most.sent, sent),
            .received = std::max(most.received, received),
            .kept = std::max(most.kept, kept),
            .packed = std::max(most.packed, packed)};
  }
  return moves_rows(step) ? in_use(most, program.array_of(step.operands[0]).rows_share) : most;
}

/// The largest mesh for which every message of a reshard is counted.
constexpr Index kMostPlanned = 64;

/// Elements of all boxes except the one at `own`.
Index elements_of(const std::vector<collectives::Box>& boxes, Index own) {
  Index elements = 0;
  for (std::size_t q = 0; q < boxes.size(); ++q) {
    if (static_cast<Index>(q) != own) elements += element_count(collectives::extents(boxes[q]));
  }
  return elements;
}

/// The work of `rank` in a reshard, message by message.
Moved planned(const Shape& shape, const Sharding& from, const Sharding& to, const AbstractMesh& mesh, Index rank) {
  const collectives::ReshardPlan plan = collectives::reshard_plan(shape, from, to, mesh, rank);
  const auto copied = [&](const std::vector<collectives::Box>& boxes, const collectives::Box& array) {
    const Shape local = collectives::extents(array);
    bool runs = true;
    for (std::size_t q = 0; q < boxes.size(); ++q) {
      runs = runs && (static_cast<Index>(q) == plan.position || collectives::contiguous(local, boxes[q]));
    }
    return runs ? Index{0} : elements_of(boxes, plan.position);
  };
  return {.sent = elements_of(plan.sends, plan.position),
          .received = elements_of(plan.receives, plan.position),
          .kept = element_count(collectives::extents(plan.sends[static_cast<std::size_t>(plan.position)])),
          .packed = copied(plan.sends, plan.held) + copied(plan.receives, plan.wanted)};
}

/// The elements that `rank` receives in a reshard: it wants them and does not hold them. All ranks
/// together send as many.
Moved received(const Shape& shape, const Sharding& from, const Sharding& to, const AbstractMesh& mesh, Index rank) {
  const std::vector<Range> held = box(shape, from, mesh, rank);
  const std::vector<Range> wanted = box(shape, to, mesh, rank);
  Index all = 1;
  Index kept = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    all *= wanted[d].size();
    kept *= std::max<Index>(0, std::min(held[d].end, wanted[d].end) - std::max(held[d].begin, wanted[d].begin));
  }
  return {.sent = all - kept, .received = all - kept, .kept = kept, .packed = 2 * (all - kept)};
}

/// A large mesh has many long plans, so a sample of ranks stands for all.
Moved of_reshard(const RankProgram& program, const Step& step) {
  const Version& from = program.version(step.operands[0]);
  const Version& to = program.version(step.results[0]);
  const Shape& shape = program.program.array(from.array).shape;
  const Index ranks = program.mesh.ranks();
  const Index counted = std::min(ranks, kMostPlanned);
  Moved most;
  for (Index i = 0; i < counted; ++i) {
    const Index rank = (i + 1) * ranks / counted - 1;
    const auto of_rank = ranks <= kMostPlanned ? planned : received;
    const Moved one = of_rank(shape, from.sharding, to.sharding, program.mesh, rank);
    most = {.sent = std::max(most.sent, one.sent),
            .received = std::max(most.received, one.received),
            .kept = std::max(most.kept, one.kept),
            .packed = std::max(most.packed, one.packed)};
  }
  return most;
}

Moved remembered(const RankProgram& program, const Step& step, ReshardMemo& memo) {
  const Version& from = program.version(step.operands[0]);
  const auto [entry, added] = memo.try_emplace(
      {program.program.array(from.array).shape, from.sharding, program.version(step.results[0]).sharding}, Moved{});
  if (added) entry->second = of_reshard(program, step);
  return entry->second;
}

Moved without_steps(const RankProgram& program, const Step& step, ReshardMemo* memo) {
  switch (step.kind) {
    case StepKind::all_gather:
      return of_all_gather(program, step);
    case StepKind::reduce_scatter:
      return of_reduce_scatter(program, step);
    case StepKind::all_reduce:
      return of_all_reduce(program, step);
    case StepKind::all_to_all:
      return of_all_to_all(program, step);
    case StepKind::reshard:
      return memo != nullptr ? remembered(program, step, *memo) : of_reshard(program, step);
    case StepKind::slice:
    case StepKind::owe:
      return {.kept = element_count(local_shape(program, step.results[0], 0))};
    case StepKind::send:
    case StepKind::receive:
    case StepKind::compute:
      break;
  }
  throw Error(kind_name(program, step) + " moves nothing between the ranks of a stage");
}

}  // namespace

Moved moved(const RankProgram& program, const Step& step, ReshardMemo* memo) {
  Moved result = without_steps(program, step, memo);
  const Index rounds = step.kind == StepKind::all_reduce ? 2 : 1;
  if (result.sent > 0) result.steps = rounds * (program.mesh.size(step.axes) - 1);
  return result;
}

void name_wires(RankProgram& program, collectives::Wire wire) {
  for (Step& step : program.steps) {
    if (step.kind != StepKind::reduce_scatter && step.kind != StepKind::all_reduce) continue;
    const bool rounds = program.array_of(step.operands[0]).dtype == DType::bf16;
    step.wire = rounds ? wire : collectives::Wire::automatic;
  }
}

}  // namespace shardline
