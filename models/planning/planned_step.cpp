#include "models/planning/planned_step.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "models/architecture/accounting.h"
#include "models/planning/priced_layers.h"
#include "program/partition/partition.h"
#include "program/plan/liveness.h"
#include "program/timetable/named.h"
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

/// What a program takes. The difference of two programs prices every further layer.
struct Sums {
  PlannedWork work;
  Bytes weights, optimizer;
  std::map<Pass, Bytes> peaks;

  /// Calls change(part of this, part of other) for every part.
  template <class Change>
  void with(const Sums& other, const Change& change) {
    work.with(other.work, change);
    change(weights, other.weights), change(optimizer, other.optimizer);
    for (auto& [pass, bytes] : other.peaks) change(peaks[pass], bytes);
  }

  /// This sum plus, for each of `further` layers, its difference to `shorter`.
  Sums continued(const Sums& shorter, double further) const {
    Sums all = *this;
    all.with(shorter, [&](auto& a, const auto& b) { a = a + (a - b) * further; });
    return all;
  }
};

PlannedStep step_of(const Sums& sums) {
  PlannedStep step;
  step.upper = sums.work.upper;
  step.scheduled = sums.work.taken;
  step.exposed = sums.work.exposed;
  step.math = sums.work.math;
  step.attention = sums.work.attention;
  step.context = sums.work.context;
  step.flops = sums.work.flops;
  step.repeated = sums.work.repeated;
  const Bytes state = sums.weights + sums.optimizer;
  step.memory = {sums.weights, sums.optimizer, Bytes(0), sums.peaks.at(Pass::update) - state};
  for (const auto& [pass, bytes] : sums.peaks) step.memory.others = std::max(step.memory.others, bytes - state);
  step.comms = sums.work.busiest_link();
  // Small all_reduces that travel as one take less time than one after another.
  step.lower = std::min(sums.work.busiest(), step.scheduled);
  step.limiter = sums.work.limiter();
  return step;
}

/// The numbers of all steps.
std::vector<int> all_steps(const RankProgram& program) {
  std::vector<int> numbers(program.steps.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// The mesh of a stage.
AbstractMesh within_axis(const AbstractMesh& mesh, const Axis& axis) {
  return axis.empty() ? mesh : mesh.without(axis);
}

}  // namespace

StepPlanner::StepPlanner(const PlannedRun& run) : run_(run) {
  require(run.tokens % run.sequence == 0, "a batch of {} tokens: sequences of {} do not divide it", run.tokens,
          run.sequence);
  const std::string counted = counted_only(run.config);
  require(counted.empty(), "no program has {}", counted);
}

const Program& StepPlanner::program_of(Index layers, const PlannedForm& form) const {
  const std::tuple key(layers, form.micro_batches, form.remat);
  const auto found = programs_.find(key);
  if (found != programs_.end()) return found->second;
  TransformerConfig config = run_.config;
  config.layers = layers;
  const BatchShape batch{
      .sequences = run_.sequences(), .tokens = run_.sequence, .balanced = true, .capacity = run_.capacity};
  TrainingStep step = make_training_step(config, batch, {}, {.model = run_.dtype, .moments = run_.optimizer},
                                         {.micro_batches = form.micro_batches, .remat = form.remat});
  return programs_.emplace(key, std::move(step.model.program)).first->second;
}

PricedSteps StepPlanner::Priced::steps(const roofline::Hardware& hardware) const {
  return {compiled->program(), compiled->estimates(), compiled->time().taken, hardware, context};
}

PlannedStep StepPlanner::price_whole(const AbstractMesh& mesh, const Strategy& strategy,
                                     const roofline::Hardware& hardware, const PlannedForm& form) const {
  const auto sums_of = [&](Index layers) {
    const Priced priced = price_program(layers, mesh, strategy, hardware, form);
    const RankProgram& program = priced.compiled->program();
    return Sums{.work = work_of(priced.steps(hardware), all_steps(program)),
                .weights = held(program, Role::parameter),
                .optimizer = held(program, Role::optimizer_state),
                .peaks = priced.compiled->liveness().peaks(0)};
  };
  const Index layers = run_.config.layers;
  if (layers <= kPricedLayers) return step_of(sums_of(layers));
  return step_of(
      sums_of(kPricedLayers).continued(sums_of(kPricedLayers - 1), static_cast<double>(layers - kPricedLayers)));
}

std::vector<PlannedStep> StepPlanner::price_each(const AbstractMesh& mesh, const Strategy& strategy,
                                                 const roofline::Hardware& hardware, const PlannedForm& form,
                                                 const std::vector<std::string>& timetables) const {
  const Axis axis = stage_axis(strategy, mesh);
  std::vector<PlannedStep> steps;
  if (axis.empty() && form.micro_batches == 1) {
    steps.push_back(price_whole(mesh, strategy, hardware, form));
  } else {
    const Index layers = std::min(run_.config.layers, kPricedLayers);
    const Priced priced = price_program(layers, within_axis(mesh, axis), within_stage(strategy), hardware, form);
    const PricedLayers by_layer(priced.steps(hardware), priced.compiled->liveness(), axis, run_.config.layers);
    const int stages = axis.empty() ? 1 : static_cast<int>(mesh.size(axis));
    // Of one stage all timetables are the same.
    const std::vector<std::string> names =
        axis.empty() ? std::vector<std::string>{std::string(timetable_rows().front().name)} : timetables;
    for (const std::string& name : names) {
      steps.push_back(by_layer.step({name, stages, form.micro_batches}));
      steps.back().form.timetable = axis.empty() ? "" : name;
    }
  }
  for (PlannedStep& step : steps) {
    step.mesh = mesh;
    step.strategy = strategy;
    step.form.micro_batches = form.micro_batches;
    step.form.remat = form.remat;
  }
  return steps;
}

PlannedStep StepPlanner::price(const AbstractMesh& mesh, const Strategy& strategy, const roofline::Hardware& hardware,
                               const PlannedForm& form) const {
  std::vector<std::string> names{form.timetable};
  if (form.timetable.empty()) names = every_timetable();
  const std::vector<PlannedStep> steps = price_each(mesh, strategy, hardware, form, names);
  return *std::min_element(steps.begin(), steps.end(),
                           [](const PlannedStep& a, const PlannedStep& b) { return a.scheduled < b.scheduled; });
}

std::vector<PlannedKind> StepPlanner::kinds(const AbstractMesh& mesh, const Strategy& strategy,
                                            const roofline::Hardware& hardware, const PlannedForm& form) const {
  // Steps of the longer program count once, plus once per further layer. Steps of the shorter are
  // subtracted once per further layer. Stages share them.
  const Axis axis = stage_axis(strategy, mesh);
  const double share = axis.empty() ? 1 : 1.0 / static_cast<double>(mesh.size(axis));
  const Index longer = std::min(run_.config.layers, kPricedLayers);
  const auto further = static_cast<double>(run_.config.layers - longer);
  std::map<std::pair<std::string, std::string>, PlannedKind> kinds;
  std::map<std::pair<std::string, std::string>, std::map<roofline::Limiter, Seconds>> limits;
  for (const Index layers : {longer - 1, longer}) {
    const double in_all = layers == longer ? 1 + further : -further;
    if (in_all == 0) continue;
    const Priced priced = price_program(layers, within_axis(mesh, axis), within_stage(strategy), hardware, form);
    const RankProgram& program = priced.compiled->program();
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const StepEstimate& estimate = priced.compiled->estimates()[i];
      const Step& step = program.steps[i];
      const Index times = step.region.pass == Pass::update ? 1 : form.micro_batches;
      const double weight = in_all * share * static_cast<double>(times);
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
    kind.limiter = largest_share(limits[key]);
    sorted.push_back(kind);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PlannedKind& a, const PlannedKind& b) { return a.time > b.time; });
  return sorted;
}

PlannedTimeline StepPlanner::timeline(const AbstractMesh& mesh, const Strategy& strategy,
                                      const roofline::Hardware& hardware, const PlannedForm& form) const {
  const Axis axis = stage_axis(strategy, mesh);
  const Index layers = std::min(run_.config.layers, kPricedLayers - 1);
  const Priced priced = price_program(layers, within_axis(mesh, axis), within_stage(strategy), hardware, form);
  return {priced.compiled->program(), priced.compiled->time()};
}

StepPlanner::Priced StepPlanner::price_program(Index layers, const AbstractMesh& mesh, const Strategy& strategy,
                                               const roofline::Hardware& hardware, const PlannedForm& form) const {
  const Program& step = program_of(layers, form);
  RankProgram program = partition(step, mesh, declare(step, mesh, strategy));
  name_wires(program, hardware.bf16_wire);
  const auto compiled =
      compile(std::move(program), {.scheduling = {{.strip_bytes = 0}}, .prices = hardware, .predictions = hardware});
  Priced priced{.compiled = compiled};
  for (const auto& [axis, role] : strategy) {
    if (shares_sequences(role.row()) && mesh.size(axis) > 1) priced.context.push_back(axis);
  }
  priced.context = mesh.in_mesh_order(priced.context);
  return priced;
}

}  // namespace shardline
