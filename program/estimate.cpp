#include "program/estimate.h"

#include <algorithm>
#include <array>

#include "program/reuse.h"
#include "program/run_phase.h"
#include "program/wire.h"
#include "roofline/collective_cost.h"
#include "runtime/base/check.h"
#include "runtime/blocks.h"

namespace shardline {
namespace {

/// The matrix products that an einsum of two operands consists of; without extents when it is no matrix product.
roofline::Work product_of(const Phase& phase, const std::vector<Range>& ranges) {
  roofline::Work work;
  if (phase.kernel != Kernel::einsum || phase.operands.size() != 2) return work;
  const auto has = [](const Subscripts& subscripts, int index) {
    return std::find(subscripts.begin(), subscripts.end(), index) != subscripts.end();
  };
  const Subscripts& a = phase.operand_subscripts[0];
  const Subscripts& b = phase.operand_subscripts[1];
  const Subscripts& out = phase.result_subscripts[0];
  std::array<Index, 3> extents{1, 1, 1};
  std::array<bool, 3> there{};
  for (int index = 0; index < static_cast<int>(ranges.size()); ++index) {
    const bool in_a = has(a, index);
    const bool in_b = has(b, index);
    if (in_a && in_b && has(out, index)) continue;  // a product for each position
    if (!in_a && !in_b) continue;
    const std::size_t part = in_a && in_b ? 2 : in_a ? 0 : 1;
    extents[part] *= ranges[static_cast<std::size_t>(index)].size();
    there[part] = true;
  }
  if (there[0] && there[1] && there[2]) work.m = extents[0], work.n = extents[1], work.k = extents[2];
  return work;
}

class Estimator {
 public:
  Estimator(const RankProgram& program, const ElementTypes& types, const roofline::Hardware& hardware,
            ReshardMemo* memo)
      : program_(program), types_(types), hardware_(hardware), memo_(memo) {}

  /// `distances`: bytes touched since the memory of each operand and result was last used; without any, it is where the
  /// step leaves it.
  StepEstimate operator()(const Step& step, const std::vector<Bytes>& distances) const {
    return step.kind == StepKind::compute ? computation(step, distances) : conversion(step, distances);
  }

 private:
  Index element_size(VersionId v) const { return size_of(types_.of(program_.program, program_.version(v).array)); }
  Index elements(VersionId v) const { return element_count(local_shape(program_, v, 0)); }
  Bytes bytes(VersionId v) const { return Bytes(static_cast<double>(elements(v) * element_size(v))); }

  std::vector<roofline::Touch> touches(const Step& step, const std::vector<Bytes>& distances) const {
    Bytes all;
    for (const VersionId v : step.operands) all += bytes(v);
    for (const VersionId v : step.results) all += bytes(v);
    std::vector<roofline::Touch> touches;
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      touches.push_back({bytes(step.operands[k]), k < distances.size() ? std::max(all, distances[k]) : all});
    }
    for (std::size_t k = 0; k < step.results.size(); ++k) {
      const std::size_t at = step.operands.size() + k;
      touches.push_back({bytes(step.results[k]), at < distances.size() ? std::max(all, distances[at]) : all});
    }
    return touches;
  }

  StepEstimate computation(const Step& step, const std::vector<Bytes>& distances) const {
    const std::vector<Range> ranges = index_ranges(program_, step, 0);
    const Phase& phase = program_.phase_of(step);
    roofline::Work work = product_of(phase, ranges);
    work.cost = phase_cost(program_.operation_of(step), static_cast<std::size_t>(step.phase), ranges,
                           element_size(step.results[0]));
    work.kernel = name_of(phase.kernel);
    work.touches = touches(step, distances);
    return {work.cost.flops, work.cost.bytes, Bytes(0), roofline::kernel_price(work, hardware_)};
  }

  StepEstimate conversion(const Step& step, const std::vector<Bytes>& distances) const {
    const VersionId from = step.operands[0];
    const VersionId to = step.results[0];
    const Index item = element_size(from);
    const Index larger = std::max(elements(from), elements(to));
    const Index ranks = program_.mesh.size(step.axes);
    const Bytes bytes(static_cast<double>(larger * item));
    if (step.kind == StepKind::slice || step.kind == StepKind::owe) {
      const roofline::Work copy{.cost = {Flops(0), 2 * bytes}, .touches = touches(step, distances)};
      return {Flops(0), bytes, Bytes(0), roofline::kernel_price(copy, hardware_)};
    }
    const collectives::Traffic traffic = wire_traffic(program_, step, item, memo_);
    roofline::Collective collective{.sent = Bytes(static_cast<double>(traffic.wire_bytes))};
    for (const Axis& axis : step.axes) collective.ranks.push_back(program_.mesh.size(axis));
    collective.rounds = step.kind == StepKind::all_reduce ? 2 : 1;
    collective.scatters = step.kind == StepKind::all_to_all || step.kind == StepKind::reshard;
    collective.by_messages = step.kind == StepKind::reshard;
    collective.packed = packed(step) ? 2 * bytes : Bytes(0);
    if (!distances.empty()) collective.reach = distances[0];
    Flops flops;
    if (step.kind == StepKind::reduce_scatter || step.kind == StepKind::all_reduce) {
      // A ring adds every chunk but one on each rank, the smallest on the busiest.
      flops = Flops(static_cast<double>(larger - block(larger, ranks, ranks - 1).size()));
      collective.added = static_cast<double>(item) * Bytes(flops.value);
    }
    return {flops, bytes, collective.sent, roofline::collective_price(collective, step.axes, hardware_)};
  }

  /// True when the blocks of the dim that changes must be packed: it is not the outermost of more than one element, or
  /// the change is a reshard, which always packs.
  bool packed(const Step& step) const {
    if (step.kind == StepKind::reshard) return true;
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
  const Estimator estimator(program, types, hardware, nullptr);
  const std::vector<std::vector<Bytes>> distances = hardware.caches.empty()  // then nothing depends on them
                                                        ? std::vector<std::vector<Bytes>>(program.steps.size())
                                                        : reuse_distances(program, types);
  std::vector<StepEstimate> result;
  for (std::size_t i = 0; i < program.steps.size(); ++i) result.push_back(estimator(program.steps[i], distances[i]));
  return result;
}

StepEstimate estimate(const RankProgram& program, const Step& step, const ElementTypes& types,
                      const roofline::Hardware& hardware, ReshardMemo* memo) {
  return Estimator(program, types, hardware, memo)(step, {});
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
