#include "models/planning/planned_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "program/partition/partition.h"
#include "program/plan/liveness.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Layers of the larger of two priced programs. Their difference prices every further layer.
constexpr Index kPricedLayers = 3;

/// Bytes of the inputs with this role on rank 0.
Bytes held(const RankProgram& program, Role role) {
  Bytes bytes;
  for (const auto& [array, version] : program.inputs) {
    if (program.program.array(array).role != role) continue;
    bytes += local_bytes(program, version, 0);
  }
  return bytes;
}

/// Sums over the layers of a model.
struct Sums {
  Seconds upper, scheduled, exposed, math, attention, cores;
  Flops flops;
  Bytes weights, optimizer;
  std::map<Pass, Bytes> peaks;
  std::map<std::string, Seconds> links;
  std::map<roofline::Limiter, Seconds> computing, moving;  ///< by the limiter of each step

  /// Calls change(part of this, part of other) for every part.
  template <class Change>
  void with(const Sums& other, const Change& change) {
    change(upper, other.upper), change(scheduled, other.scheduled), change(exposed, other.exposed);
    change(math, other.math), change(attention, other.attention), change(cores, other.cores);
    change(flops, other.flops);
    change(weights, other.weights), change(optimizer, other.optimizer);
    for (auto& [pass, bytes] : other.peaks) change(peaks[pass], bytes);
    for (auto& [link, time] : other.links) change(links[link], time);
    for (auto& [limiter, time] : other.computing) change(computing[limiter], time);
    for (auto& [limiter, time] : other.moving) change(moving[limiter], time);
  }

  /// This sum plus, for each of `further` layers, its difference to `shorter`.
  Sums continued(const Sums& shorter, double further) const {
    Sums all = *this;
    all.with(shorter, [&](auto& a, const auto& b) { a = a + (a - b) * further; });
    return all;
  }
};

roofline::Limiter largest(const std::map<roofline::Limiter, Seconds>& shares) {
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto found = std::max_element(shares.begin(), shares.end(), by_time);
  return found == shares.end() ? roofline::Limiter::latency : found->first;
}

/// Throws UsageError for a role that makes stages, and for one that splits sequences. If it splits products, the
/// message names the role that splits the same products but no sequences.
void refuse_unpriced(const Axis& axis, const AxisRole& role) {
  require(!makes_stages(role.row()), "role {} on axis {} makes stages, which are not priced here", role.name(), axis);
  if (!splits_sequences(role.row())) return;
  usage_error("role {} on axis {} splits sequences, which is not priced here{}", role.name(), axis,
              splits_products(role.row()) ? fmt::format("; {} splits the same products", tensor_role().name()) : "");
}

PlannedStep step_of(const Sums& sums, const AbstractMesh& mesh, const Strategy& strategy) {
  PlannedStep step{.mesh = mesh, .strategy = strategy};
  step.upper = sums.upper;
  step.scheduled = sums.scheduled;
  step.exposed = sums.exposed;
  step.math = sums.math;
  step.attention = sums.attention;
  step.flops = sums.flops;
  const Bytes state = sums.weights + sums.optimizer;
  step.memory = {sums.weights, sums.optimizer, Bytes(0), sums.peaks.at(Pass::update) - state};
  for (const auto& [pass, bytes] : sums.peaks) step.memory.others = std::max(step.memory.others, bytes - state);
  for (const auto& [link, time] : sums.links) step.comms = std::max(step.comms, time);
  // Small all_reduces that travel as one take less time than one after another.
  step.lower = std::min(std::max(sums.cores, step.comms), sums.scheduled);
  step.limiter = largest(step.comms > step.math ? sums.moving : sums.computing);
  return step;
}

}  // namespace

StepPlanner::StepPlanner(const PlannedRun& run) : run_(run) {
  const Index layers = run.config.layers;
  if (layers > kPricedLayers) steps_.push_back(program_of(kPricedLayers - 1));
  steps_.push_back(program_of(std::min(layers, kPricedLayers)));
}

Program StepPlanner::program_of(Index layers) const {
  TransformerConfig config = run_.config;
  config.layers = layers;
  return make_training_step(config, {run_.tokens, 1}, {}, {run_.dtype, run_.optimizer}).model.program;
}

PlannedStep StepPlanner::price(const AbstractMesh& mesh, const Strategy& strategy,
                               const roofline::Hardware& hardware) const {
  const auto sums_of = [&](const Program& step) {
    const Priced priced = price(step, mesh, strategy, hardware);
    Sums sums;
    sums.upper = priced.price.sum;
    sums.scheduled = priced.compiled->time().total;
    sums.exposed = priced.compiled->time().exposed;
    sums.math = priced.price.math;
    sums.attention = priced.attention;
    sums.cores = priced.price.cores;
    sums.links = priced.price.links;
    sums.flops = priced.price.flops;
    const RankProgram& program = priced.compiled->program();
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const roofline::Price& each = priced.price.steps[i].price;
      (communicates(program.steps[i].kind) ? sums.moving : sums.computing)[each.limiter] += each.time;
    }
    sums.weights = held(program, Role::parameter);
    sums.optimizer = held(program, Role::optimizer_state);
    sums.peaks = priced.compiled->liveness().peaks(0);
    return sums;
  };
  Sums all = sums_of(steps_.back());
  if (steps_.size() > 1) {
    all = all.continued(sums_of(steps_[0]), static_cast<double>(run_.config.layers - kPricedLayers));
  }
  return step_of(all, mesh, strategy);
}

std::vector<PlannedKind> StepPlanner::kinds(const AbstractMesh& mesh, const Strategy& strategy,
                                            const roofline::Hardware& hardware) const {
  // Steps of the longer program count once, plus once per further layer. Steps of the shorter are
  // subtracted once per further layer.
  const double further = steps_.size() > 1 ? static_cast<double>(run_.config.layers - kPricedLayers) : 0;
  std::map<std::pair<std::string, std::string>, PlannedKind> kinds;
  std::map<std::pair<std::string, std::string>, std::map<roofline::Limiter, Seconds>> limits;
  for (std::size_t m = 0; m < steps_.size(); ++m) {
    const double weight = m + 1 == steps_.size() ? 1 + further : -further;
    const Priced priced = price(steps_[m], mesh, strategy, hardware);
    const RankProgram& program = priced.compiled->program();
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const StepEstimate& estimate = priced.price.steps[i];
      const Step& step = program.steps[i];
      const auto key = std::pair(kind_name(program, step), to_string(step.axes));
      PlannedKind& kind = kinds.try_emplace(key, PlannedKind{key.first, key.second}).first->second;
      kind.count += weight;
      kind.bytes += estimate.bytes * weight;
      kind.wire_bytes += estimate.wire_bytes * weight;
      kind.flops += estimate.flops * weight;
      kind.time += estimate.price.time * weight;
      limits[key][estimate.price.limiter] += estimate.price.time * weight;
    }
  }
  std::vector<PlannedKind> sorted;
  for (auto& [key, kind] : kinds) {
    kind.limiter = largest(limits[key]);
    sorted.push_back(kind);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PlannedKind& a, const PlannedKind& b) { return a.time > b.time; });
  return sorted;
}

PlannedTimeline StepPlanner::timeline(const AbstractMesh& mesh, const Strategy& strategy,
                                      const roofline::Hardware& hardware) const {
  const Priced priced = price(steps_[0], mesh, strategy, hardware);
  return {priced.compiled->program(), priced.compiled->time()};
}

Seconds StepPlanner::price_attention(const RankProgram& program, std::vector<StepEstimate>& estimates,
                                     const roofline::Hardware& hardware) const {
  Seconds all;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.kind != StepKind::compute) continue;
    const Phase& phase = program.phase_of(step);
    if (phase.kernel->cost_in_sequences == nullptr) continue;
    const std::vector<Range> ranges = index_ranges(program, step, 0);
    const PhaseBlock block{program.program, program.operation_of(step), phase, ranges};
    const kernels::Cost cost = phase.kernel->cost_in_sequences(block, run_.sequence);
    StepEstimate& estimate = estimates[i];
    estimate.flops = cost.flops;
    estimate.bytes = cost.bytes;
    estimate.price = roofline::kernel_price({cost, phase.kernel->name}, hardware);
    all += estimate.price.time;
  }
  return all;
}

StepPlanner::Priced StepPlanner::price(const Program& step, const AbstractMesh& mesh, const Strategy& strategy,
                                       const roofline::Hardware& hardware) const {
  for (const auto& [axis, role] : strategy) refuse_unpriced(axis, role);
  RankProgram program = partition(step, mesh, declare(step, mesh, strategy));
  name_wires(program, hardware.bf16_wire);
  const auto compiled =
      compile(std::move(program), {.scheduling = ScheduleOptions(), .prices = hardware, .predictions = hardware});
  Priced priced{.compiled = compiled};
  compiled->amend_estimates([&](std::vector<StepEstimate>& estimates) {
    priced.attention = price_attention(compiled->program(), estimates, hardware);
  });
  priced.price = shardline::price(compiled->program(), compiled->estimates(), hardware);
  return priced;
}

}  // namespace shardline
