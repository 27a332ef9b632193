#include "program/price/estimate.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "kernels/einsum/contraction.h"
#include "kernels/gemm/thin.h"
#include "program/ops/run_phase.h"
#include "program/price/reuse.h"
#include "program/price/wire.h"
#include "roofline/price/collective_cost.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

/// The matrix products of two operands. `extents`: [rows, columns, contracted], as the operands have them.
kernels::GemmShape shape_of(const Phase& phase, const std::vector<Range>& ranges, const std::array<Index, 3>& extents) {
  kernels::Extents of_index;
  for (std::size_t index = 0; index < ranges.size(); ++index) {
    of_index.add(static_cast<int>(index), ranges[index].size());
  }
  const std::size_t second = extents[1] > 1 ? 1 : 0;  // the kernel takes a vector as a row
  return kernels::shape_of_products(phase.operand_subscripts[1 - second], phase.operand_subscripts[second],
                                    phase.result_subscripts[0], of_index);
}

/// The matrix products in an einsum of two operands of type `type`; no extents if there are none. Few rows beside a
/// matrix are a thin product, which has a rate of its own. Any other extent of 1 makes it no matrix product: the kernel
/// then computes it position by position, as fast as it walks the larger operand.
roofline::Work product_of(const Phase& phase, const std::vector<Range>& ranges, DType type) {
  roofline::Work work;
  if (phase.kernel->form != KernelForm::product || phase.operands.size() != 2) return work;
  const auto has = [](const Subscripts& subscripts, int index) {
    return std::find(subscripts.begin(), subscripts.end(), index) != subscripts.end();
  };
  const Subscripts& a = phase.operand_subscripts[0];
  const Subscripts& b = phase.operand_subscripts[1];
  const Subscripts& out = phase.result_subscripts[0];
  std::array<Index, 3> extents{1, 1, 1};
  for (int index = 0; index < static_cast<int>(ranges.size()); ++index) {
    const bool in_a = has(a, index);
    const bool in_b = has(b, index);
    if (in_a && in_b && has(out, index)) continue;   // one product per position
    if (in_a != in_b && !has(out, index)) continue;  // summed before the product
    if (!in_a && !in_b) continue;
    const std::size_t part = in_a && in_b ? 2 : in_a ? 0 : 1;
    extents[part] *= ranges[static_cast<std::size_t>(index)].size();
  }
  const bool has_matrix = std::max(extents[0], extents[1]) > 1 && extents[2] > 1;
  if (type != DType::f64 && has_matrix) {
    const kernels::GemmShape shape = shape_of(phase, ranges, extents);
    if (kernels::is_thin(shape)) {
      work.kernel = shape.b == kernels::Transpose::yes ? roofline::kTurnedThinProduct : roofline::kThinProduct;
      work.cost.rows = shape.m;
      return work;
    }
  }
  const bool product = std::all_of(extents.begin(), extents.end(), [](Index extent) { return extent != 1; });
  if (product) work.m = extents[0], work.n = extents[1], work.k = extents[2];
  return work;
}

class Estimator {
 public:
  Estimator(const RankProgram& program, const roofline::Hardware& hardware, ReshardMemo* memo)
      : program_(program), hardware_(hardware), memo_(memo) {}

  /// `distances`: bytes touched since the last use of the memory of each operand and result. Empty:
  /// the step itself used it last. `strip`: the bytes that a step of a sweep touches at a time.
  StepEstimate operator()(const Step& step, const std::vector<Bytes>& distances,
                          const std::optional<Bytes>& strip = {}) const {
    if (changes_stage(step.kind)) return move(step);
    return step.kind == StepKind::compute ? computation(step, distances, strip) : conversion(step, distances);
  }

 private:
  Index element_size(VersionId v) const { return size_of(program_.array_of(v).dtype); }
  Index elements(VersionId v) const { return element_count(local_shape(program_, v, 0)); }
  Bytes bytes(VersionId v) const { return local_bytes(program_, v, 0); }

  /// `bytes`: each operand, then each result.
  static std::vector<roofline::Touch> touches(const std::vector<Bytes>& bytes, const std::vector<Bytes>& distances,
                                              const std::optional<Bytes>& strip = {}) {
    const Bytes whole = std::accumulate(bytes.begin(), bytes.end(), Bytes());
    const Bytes all = strip ? std::min(whole, *strip) : whole;
    std::vector<roofline::Touch> touches;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      touches.push_back({bytes[i], i < distances.size() ? std::max(all, distances[i]) : all});
    }
    return touches;
  }

  std::vector<Bytes> bytes_of_arrays(const Step& step) const {
    std::vector<Bytes> all;
    for (const VersionId v : step.operands) all.push_back(bytes(v));
    for (const VersionId v : step.results) all.push_back(bytes(v));
    return all;
  }

  StepEstimate computation(const Step& step, const std::vector<Bytes>& distances,
                           const std::optional<Bytes>& strip) const {
    const std::vector<Range> ranges = index_ranges(program_, step, 0);
    const Phase& phase = program_.phase_of(step);
    roofline::Work work = product_of(phase, ranges, program_.array_of(step.operands[0]).dtype);
    const Index rows = work.cost.rows;
    work.cost = phase_cost(program_.program, program_.operation_of(step), static_cast<std::size_t>(step.phase), ranges);
    if (rows > 0) work.cost.rows = rows;
    if (work.kernel.empty()) work.kernel = phase.kernel->name;
    work.touches = touches(bytes_of_arrays(step), distances, strip);
    return {work.cost.flops, work.cost.bytes, Bytes(0), roofline::kernel_price(work, hardware_)};
  }

  /// One message to, or from, another stage. If links need the cores, the receiver does all the work.
  StepEstimate move(const Step& step) const {
    const bool sends = step.kind == StepKind::send;
    Bytes all;
    for (const VersionId v : sends ? step.operands : step.results) all += bytes(v);
    const bool frees = hardware_.link(step.axes.at(0)).frees_cores;
    const Bytes carried = sends && !frees ? Bytes(0) : all;
    roofline::Collective message{.ranks = {2}, .sent = carried, .received = carried, .by_messages = true};
    return {Flops(0), all, sends ? all : Bytes(0), roofline::collective_price(message, step.axes, hardware_)};
  }

  StepEstimate conversion(const Step& step, const std::vector<Bytes>& distances) const {
    const Index item = element_size(step.operands[0]);
    const auto bytes_of = [&](Index elements) { return Bytes(static_cast<double>(elements * item)); };
    const Moved moves = moved(program_, step, memo_);
    if (!communicates(step.kind)) {
      const Bytes kept = bytes_of(moves.kept);
      const roofline::Work copy{.cost = {Flops(0), 2 * kept}, .touches = touches({kept, kept}, distances)};
      return {Flops(0), copy.cost.bytes, Bytes(0), roofline::kernel_price(copy, hardware_)};
    }
    roofline::Collective collective{.sent = bytes_of(moves.sent),
                                    .received = bytes_of(moves.received),
                                    .added = bytes_of(moves.added),
                                    .kept = bytes_of(moves.kept),
                                    .packed = bytes_of(moves.packed)};
    for (const Axis& axis : step.axes) collective.ranks.push_back(program_.mesh.size(axis));
    collective.rounds = step.kind == StepKind::all_reduce ? 2 : 1;
    collective.scatters = step.kind == StepKind::all_to_all || step.kind == StepKind::reshard;
    collective.by_messages = step.kind == StepKind::reshard;
    if (!distances.empty()) collective.reach = distances[0];
    const Bytes larger = std::max(bytes(step.operands[0]), bytes(step.results[0]));
    return {Flops(static_cast<double>(moves.added)), larger, collective.sent,
            roofline::collective_price(collective, step.axes, hardware_)};
  }

  const RankProgram& program_;
  const roofline::Hardware& hardware_;
  ReshardMemo* memo_;
};

}  // namespace

std::vector<StepEstimate> estimate(const RankProgram& program, const roofline::Hardware& hardware,
                                   const std::vector<StripSteps>& sweeps) {
  const Estimator estimator(program, hardware, nullptr);
  const std::vector<std::vector<Bytes>> distances = hardware.caches.empty()  // then they do not matter
                                                        ? std::vector<std::vector<Bytes>>(program.steps.size())
                                                        : reuse_distances(program, sweeps);
  std::vector<std::optional<Bytes>> strips(program.steps.size());
  for (const StripSteps& sweep : sweeps) {
    for (const int step : sweep.steps) strips[static_cast<std::size_t>(step)] = sweep.strip;
  }
  std::vector<StepEstimate> result;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    result.push_back(estimator(program.steps[i], distances[i], strips[i]));
  }
  return result;
}

StepEstimate estimate(const RankProgram& program, const Step& step, const roofline::Hardware& hardware,
                      ReshardMemo* memo) {
  return Estimator(program, hardware, memo)(step, {});
}

bool multiplies_matrices(const RankProgram& program, const Step& step) {
  const DType type = program.array_of(step.operands[0]).dtype;
  const roofline::Work work = product_of(program.phase_of(step), index_ranges(program, step, 0), type);
  return work.m > 0 || roofline::is_thin_product(work.kernel);
}

}  // namespace shardline
