#include "program/estimate.h"

#include <algorithm>

#include "program/run_phase.h"
#include "program/wire.h"
#include "roofline/collective_cost.h"
#include "runtime/base/check.h"
#include "runtime/blocks.h"

namespace shardline {
namespace {

class Estimator {
 public:
  Estimator(const RankProgram& program, const ElementTypes& types, const roofline::Hardware& hardware,
            ReshardMemo* memo)
      : program_(program), types_(types), hardware_(hardware), memo_(memo) {}

  StepEstimate operator()(const Step& step) const {
    return step.kind == StepKind::compute ? computation(step) : conversion(step);
  }

 private:
  Index element_size(VersionId v) const { return size_of(types_.of(program_.program, program_.version(v).array)); }
  Index elements(VersionId v) const { return element_count(local_shape(program_, v, 0)); }

  StepEstimate computation(const Step& step) const {
    const kernels::Cost cost = phase_cost(program_.operation_of(step), static_cast<std::size_t>(step.phase),
                                          index_ranges(program_, step, 0), element_size(step.results[0]));
    return {cost.flops, cost.bytes, Bytes(0), roofline::kernel_price(cost, hardware_)};
  }

  StepEstimate conversion(const Step& step) const {
    const VersionId from = step.operands[0];
    const VersionId to = step.results[0];
    const Index item = element_size(from);
    const Index larger = std::max(elements(from), elements(to));
    const Index ranks = program_.mesh.size(step.axes);
    const Bytes bytes(static_cast<double>(larger * item));
    const collectives::Traffic traffic = wire_traffic(program_, step, item, memo_);
    roofline::Collective collective{.sent = Bytes(static_cast<double>(traffic.wire_bytes)), .local = 2 * bytes};
    for (const Axis& axis : step.axes) collective.ranks.push_back(program_.mesh.size(axis));
    collective.rounds = step.kind == StepKind::all_reduce ? 2 : 1;
    Flops flops;
    switch (step.kind) {
      case StepKind::reduce_scatter:
      case StepKind::all_reduce:
        // A ring adds every chunk but one on each rank, the smallest on the busiest: two arrays read, one written.
        flops = Flops(static_cast<double>(larger - block(larger, ranks, ranks - 1).size()));
        collective.local = (packed(step) ? 2 * bytes : Bytes(0)) + 3.0 * static_cast<double>(item) * Bytes(flops.value);
        break;
      case StepKind::all_to_all:
        collective.scatters = true;
        [[fallthrough]];
      case StepKind::all_gather:
        collective.local = packed(step) ? 2 * bytes : Bytes(0);
        break;
      case StepKind::reshard:
        collective.scatters = true;
        break;
      case StepKind::slice:
      case StepKind::owe:
        return {flops, bytes, Bytes(0), roofline::kernel_price({flops, collective.local}, hardware_)};
      case StepKind::compute:
        throw Error("a computation is not a conversion");
    }
    if (step.kind != StepKind::reshard && in_shared_memory(step)) collective.local = Bytes(0);
    return {flops, bytes, collective.sent, roofline::collective_price(collective, step.axes, hardware_)};
  }

  /// True when all ranks of a step share memory: algorithm `direct` reads arrays where they lie, and copies or adds
  /// them in the one pass that the bandwidth of such a link is that of.
  bool in_shared_memory(const Step& step) const {
    return std::all_of(step.axes.begin(), step.axes.end(), [&](const Axis& axis) {
      return program_.mesh.size(axis) == 1 || !hardware_.link(axis).frees_cores;
    });
  }

  /// True when the dim that changes is not the outermost of more than one element: its blocks must be packed.
  bool packed(const Step& step) const {
    const auto inner = [&](VersionId v, int dim) {
      const Shape shape = local_shape(program_, v, 0);
      return std::any_of(shape.begin(), shape.begin() + std::max(dim, 0), [](Index n) { return n > 1; });
    };
    return inner(step.operands[0], step.from_dim) || inner(step.operands[0], step.to_dim);
  }

  const RankProgram& program_;
  const ElementTypes& types_;
  const roofline::Hardware& hardware_;
  ReshardMemo* memo_;
};

}  // namespace

std::vector<StepEstimate> estimate(const RankProgram& program, const ElementTypes& types,
                                   const roofline::Hardware& hardware) {
  std::vector<StepEstimate> result;
  for (const Step& step : program.steps) result.push_back(estimate(program, step, types, hardware));
  return result;
}

StepEstimate estimate(const RankProgram& program, const Step& step, const ElementTypes& types,
                      const roofline::Hardware& hardware, ReshardMemo* memo) {
  return Estimator(program, types, hardware, memo)(step);
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
