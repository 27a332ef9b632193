#include "program/run/fused_run.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "collectives/overlap/collective_matmul.h"
#include "program/ops/einsum.h"
#include "program/run/panel_run.h"
#include "roofline/price/panel_cost.h"

namespace shardline {
namespace {

/// `items` with item `dim` moved to the front.
template <class T>
std::vector<T> with_first(std::vector<T> items, int dim) {
  std::rotate(items.begin(), items.begin() + dim, items.begin() + dim + 1);
  return items;
}

/// True if the array has the same memory order with `dim` first.
bool lies_first(const Shape& shape, int dim) {
  return std::all_of(shape.begin(), shape.begin() + dim, [](Index n) { return n == 1; });
}

/// 0, 1, ..., one number per dim.
Subscripts numbered(const Shape& shape) {
  Subscripts subscripts;
  for (std::size_t d = 0; d < shape.size(); ++d) subscripts.push_back(static_cast<int>(d));
  return subscripts;
}

/// The product of a fusion, which is computed panel by panel.
class PanelProduct {
 public:
  PanelProduct(const RankProgram& program, const Fusion& fusion, const std::function<Tensor&(VersionId)>& at)
      : fusion_(fusion), step_(program.steps[static_cast<std::size_t>(fusion.computation)]) {
    const Phase& phase = program.phase_of(step_);
    for (const VersionId v : step_.operands) call.operands.push_back(&at(v));
    call.operand_subscripts = phase.operand_subscripts;
    call.result = &at(step_.results[0]);
    call.result_subscripts = phase.result_subscripts[0];
  }

  /// How a gather or reduction beside it is cut, and in which order it takes what is gathered.
  collectives::PanelOptions options(const RankProgram& program, Flops panel) const {
    // Rank 0 has the largest blocks. Every rank cuts as rank 0 does.
    const std::vector<Range> ranges = index_ranges(program, step_, 0);
    using collectives::Order;
    return {
        .panel_rows = roofline::panel_rows(panel, fusion_.work, ranges[static_cast<std::size_t>(fusion_.index)].size()),
        .order = fusion_.in_coordinate_order ? Order::coordinate
                 : fusion_.contracted        ? Order::schedule
                                             : Order::arrival};
  }

  /// From now on the operand that arrives is `gathered`, with the dim of the fusion first.
  void take_gathered(const Tensor& gathered) {
    call.operands[fusion_.operand] = &gathered;
    Subscripts& subscripts = call.operand_subscripts[fusion_.operand];
    subscripts = with_first(subscripts, fusion_.dim);
  }

  void compute(Range rows) {
    const Seconds begin = now();
    compute_rows(rows);
    computing.push_back({begin, now()});
  }

  /// After the last panel: rounds what was added up in f32.
  void finish() {
    if (!sums_.empty()) convert(in_f32(), *call.result);
    sums_.clear();
  }

  EinsumCall call;                   ///< the whole product
  std::vector<TimeRange> computing;  ///< of each panel

 private:
  void compute_rows(Range rows) {
    if (!fusion_.contracted || call.result->dtype() != DType::bf16) {
      run_einsum(call, kernels::Window{fusion_.index, rows, fusion_.contracted && !first_}, &kept_);
    } else {
      add_up(rows);
    }
    first_ = false;
  }

  /// Panels that add up to a result in bf16 do so in f32, and it is rounded once.
  void add_up(Range rows) {
    sums_.resize(static_cast<std::size_t>(call.result->size()));
    Tensor sums = in_f32();
    EinsumCall part = call;
    part.result = &sums;
    run_einsum(part, kernels::Window{fusion_.index, rows, !first_}, &kept_);
  }

  /// The sums as an array.
  Tensor in_f32() {
    const std::shared_ptr<std::byte> lent(std::shared_ptr<void>(), reinterpret_cast<std::byte*>(sums_.data()));
    return {DType::f32, call.result->shape(), lent};
  }

  const Fusion& fusion_;
  const Step& step_;
  std::vector<float> sums_;  ///< of a result in bf16
  bool first_ = true;
  kernels::KeptOperands kept_;
};

class FusedRun {
 public:
  FusedRun(collectives::Engine& engine, const RankProgram& program, const FusionGroup& group, Flops panel,
           const std::function<Tensor&(VersionId)>& at)
      : engine_(engine),
        fusion_(group.front()),
        collective_(program.steps[static_cast<std::size_t>(fusion_.collective)]),
        op_(program.version(collective_.operands[0]).sharding.reduce),
        at_(at) {
    for (const Fusion& fusion : group) products_.emplace_back(program, fusion, at);
    options_ = products_.front().options(program, panel);
    options_.order = strictest(program, panel);
    options_.collective.wire = collective_.wire;
  }

  FusedTimes run() {
    const collectives::PanelReport report = fusion_.gathers ? gather() : reduce();
    FusedTimes times{report.started, report.ended, report.exposed, {}};
    for (PanelProduct& product : products_) times.computing.push_back(std::move(product.computing));
    return times;
  }

 private:
  /// The order of panels that suits all products. They are declared from the freest to the strictest.
  collectives::Order strictest(const RankProgram& program, Flops panel) const {
    collectives::Order order = collectives::Order::arrival;
    for (const PanelProduct& product : products_) order = std::max(order, product.options(program, panel).order);
    return order;
  }

  void compute(Range rows) {
    for (PanelProduct& product : products_) product.compute(rows);
  }

  collectives::PanelReport gather() {
    const Tensor part = moved(at_(collective_.operands[0]));
    Tensor& whole = at_(collective_.results[0]);
    Tensor gathered = whole.reshaped(with_first(whole.shape(), fusion_.dim));
    for (PanelProduct& product : products_) {
      product.take_gathered(gathered);
      if (gathered.extent(0) == 0) run_einsum(product.call);  // a sum over nothing
    }
    const collectives::PanelReport report = collectives::gather_and_compute(
        engine_, collective_.axes, part, gathered, options_, [this](Range rows) { compute(rows); });
    for (PanelProduct& product : products_) product.finish();
    return report;
  }

  collectives::PanelReport reduce() {
    Tensor& result = at_(collective_.results[0]);
    EinsumCall& call = products_.front().call;
    Tensor partial = call.result->reshaped(with_first(call.result->shape(), fusion_.dim));
    call.result = &partial;
    call.result_subscripts = with_first(call.result_subscripts, fusion_.dim);
    const auto compute_rows = [this](Range rows) { compute(rows); };
    if (collective_.kind == StepKind::all_reduce) {
      Tensor sum = result.reshaped(partial.shape());
      return collectives::compute_and_reduce(engine_, collective_.axes, op_, partial, sum, options_, compute_rows);
    }
    const bool apart = !lies_first(result.shape(), fusion_.dim);
    const Shape shape = with_first(result.shape(), fusion_.dim);
    Tensor sum = apart ? scratch(result.dtype(), shape) : result.reshaped(shape);
    const collectives::PanelReport report =
        collectives::compute_and_scatter(engine_, collective_.axes, op_, partial, sum, options_, compute_rows);
    if (apart) run_einsum({{&sum}, {with_first(numbered(shape), fusion_.dim)}, &result, numbered(shape)});
    return report;
  }

  /// `block` with the dim of the fusion first.
  Tensor moved(const Tensor& block) {
    const Shape shape = with_first(block.shape(), fusion_.dim);
    if (lies_first(block.shape(), fusion_.dim)) return block.reshaped(shape);
    Tensor copy = scratch(block.dtype(), shape);
    run_einsum({{&block}, {numbered(shape)}, &copy, with_first(numbered(shape), fusion_.dim)});
    return copy;
  }

  Tensor scratch(DType dtype, const Shape& shape) {
    return {dtype, shape, engine_.scratch().take(element_count(shape) * size_of(dtype))};
  }

  collectives::Engine& engine_;
  const Fusion& fusion_;  ///< of the first product; the collective is the same for all
  const Step& collective_;
  ReduceOp op_;
  const std::function<Tensor&(VersionId)>& at_;
  std::deque<PanelProduct> products_;  ///< they do not move
  collectives::PanelOptions options_;
};

}  // namespace

FusedTimes run_fused(collectives::Engine& engine, const RankProgram& program, const FusionGroup& group, Flops panel,
                     const std::function<Tensor&(VersionId)>& at) {
  return FusedRun(engine, program, group, panel, at).run();
}

std::vector<TimeRange> run_alone(const collectives::Engine& engine, const RankProgram& program, const Fusion& fusion,
                                 Flops panel, const std::function<Tensor&(VersionId)>& at) {
  PanelProduct product(program, fusion, at);
  const Tensor& gathered = *product.call.operands[fusion.operand];
  const Tensor rows_first = gathered.reshaped(with_first(gathered.shape(), fusion.dim));
  if (rows_first.extent(0) == 0) run_einsum(product.call);  // a sum over nothing
  std::vector<TimeRange> polls;
  for (const Range& rows : gather_panels(engine, fusion.axes, rows_first, product.options(program, panel))) {
    product.compute(rows);
    polls.push_back(poll());
  }
  product.finish();
  return polls;
}

}  // namespace shardline
