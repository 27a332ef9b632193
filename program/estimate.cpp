#include "program/estimate.h"

#include <algorithm>

#include "collectives/reshard.h"
#include "collectives/traffic.h"
#include "program/run_phase.h"
#include "runtime/base/check.h"
#include "runtime/blocks.h"

namespace shardline {
namespace {

class Estimator {
 public:
  Estimator(const RankProgram& program, const ElementTypes& types, const roofline::Hardware& hardware)
      : program_(program), types_(types), hardware_(hardware) {}

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
    const Bytes bytes(static_cast<double>(larger * item));
    roofline::Transfer transfer;
    transfer.local = 2 * bytes;
    Flops flops;
    const auto run = [&](collectives::Kind kind) {
      const collectives::Traffic traffic =
          collectives::traffic(kind, collectives::Algorithm::ring, program_.mesh.size(step.axes), larger, item);
      transfer.steps = static_cast<double>(traffic.steps);
      transfer.wire = Bytes(static_cast<double>(traffic.wire_bytes));
      transfer.local = packed(step) ? 2 * bytes : Bytes(0);
    };
    switch (step.kind) {
      case StepKind::all_gather:
        run(collectives::Kind::all_gather);
        break;
      case StepKind::reduce_scatter:
        run(collectives::Kind::reduce_scatter);
        flops = Flops(static_cast<double>(larger));
        break;
      case StepKind::all_reduce:
        run(collectives::Kind::all_reduce);
        flops = Flops(static_cast<double>(larger));
        break;
      case StepKind::all_to_all:
        run(collectives::Kind::all_to_all);
        break;
      case StepKind::reshard:
        transfer.steps = static_cast<double>(program_.mesh.size(step.axes) - 1);
        transfer.wire = Bytes(static_cast<double>(resharded(step) * item));
        break;
      case StepKind::slice:
      case StepKind::owe:
        return {flops, bytes, Bytes(0), roofline::kernel_price({flops, transfer.local}, hardware_)};
      case StepKind::compute:
        throw Error("a computation is not a conversion");
    }
    return {flops, bytes, transfer.wire, roofline::transfer_price(transfer, step.axes, hardware_)};
  }

  /// True when the dim that changes is not the outermost of more than one element: its blocks must be packed.
  bool packed(const Step& step) const {
    const auto inner = [&](VersionId v, int dim) {
      const Shape shape = local_shape(program_, v, 0);
      return std::any_of(shape.begin(), shape.begin() + std::max(dim, 0), [](Index n) { return n > 1; });
    };
    return inner(step.operands[0], step.from_dim) || inner(step.operands[0], step.to_dim);
  }

  /// Elements that the busiest rank sends in a reshard.
  Index resharded(const Step& step) const {
    const Version& from = program_.version(step.operands[0]);
    const Version& to = program_.version(step.results[0]);
    const Shape& shape = program_.program.array(from.array).shape;
    Index most = 0;
    for (Index rank = 0; rank < program_.mesh.ranks(); ++rank) {
      const collectives::ReshardPlan plan =
          collectives::reshard_plan(shape, from.sharding, to.sharding, program_.mesh, rank);
      Index sent = 0;
      for (std::size_t q = 0; q < plan.sends.size(); ++q) {
        if (static_cast<Index>(q) != plan.position) sent += element_count(collectives::extents(plan.sends[q]));
      }
      most = std::max(most, sent);
    }
    return most;
  }

  const RankProgram& program_;
  const ElementTypes& types_;
  const roofline::Hardware& hardware_;
};

}  // namespace

std::vector<StepEstimate> estimate(const RankProgram& program, const ElementTypes& types,
                                   const roofline::Hardware& hardware) {
  const Estimator estimator(program, types, hardware);
  std::vector<StepEstimate> result;
  for (const Step& step : program.steps) result.push_back(estimator(step));
  return result;
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
