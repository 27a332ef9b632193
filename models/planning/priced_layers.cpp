#include "models/planning/priced_layers.h"

#include <algorithm>
#include <map>
#include <set>

#include "program/cut/spread.h"
#include "program/cut/task_prices.h"
#include "program/cut/write_out.h"
#include "program/timetable/timing.h"

namespace shardline {
namespace {

std::vector<Seconds> prices_of(const std::vector<StepEstimate>& estimates) {
  std::vector<Seconds> prices;
  for (const StepEstimate& each : estimates) prices.push_back(each.price.time);
  return prices;
}

/// The steps of the update by the layers whose stages do them.
std::map<std::set<int>, std::vector<int>> update_by_layers(const Cut& cut) {
  std::map<int, std::set<int>> layers;
  for (const UpdateEvent& event : cut.update()) {
    const bool runs =
        event.step >= 0 && !is_renaming(cut.micro(), cut.micro().steps[static_cast<std::size_t>(event.step)]);
    if (runs) layers[event.step].insert(event.stage);
  }
  std::map<std::set<int>, std::vector<int>> steps;
  for (const auto& [step, of_step] : layers) steps[of_step].push_back(step);
  return steps;
}

/// What it takes to give a scalar of the update to another stage.
Seconds message_of_scalar(const PricedSteps& priced, const Axis& axis) {
  Step message;
  message.kind = StepKind::receive;
  message.axes = {axis};
  for (const auto& [array, version] : priced.program.finals) {
    if (priced.program.program.array(array).role == Role::whole) message.results = {version};
  }
  return estimate(priced.program, message, priced.hardware).price.time;
}

bool is_sum(const RankProgram& program, VersionId v) { return program.array_of(v).role == Role::sum; }

/// The most bytes at one time, during the update, of gradients and of what the update makes. A sum of micro-batches is
/// free once it is read: the program of one of them keeps it for the next, so two are written out.
Bytes peak_of_update(const RankProgram& micro) {
  const bool sums = std::any_of(micro.inputs.begin(), micro.inputs.end(),
                                [&](const auto& input) { return is_sum(micro, input.second); });
  const RankProgram program = write_out(micro, sums ? 2 : 1).program;
  std::set<VersionId> counted;
  for (const Step& step : program.steps) {
    for (const VersionId v : step.results) {
      const bool gradient = is_sum(program, v) || program.array_of(v).role == Role::gradient;
      if (gradient || (step.region.pass == Pass::update && !is_renaming(program, step))) counted.insert(v);
    }
  }
  const ProgramSchedule order = in_order(program);
  return Liveness(program, order).peaks(0, [&](VersionId v) { return counted.contains(v); })[Pass::update];
}

Bytes gradient_bytes(const std::vector<StepArray>& arrays) {
  Bytes sum;
  for (const StepArray& each : arrays) sum += each.role == Role::gradient ? each.bytes : Bytes(0);
  return sum;
}

}  // namespace

PricedLayers::PricedLayers(const PricedSteps& priced, const Liveness& live, const Axis& axis, Index layers)
    : layers_(layers) {
  const Cut cut(priced.program, layers_apart(priced.program));
  for (int layer = 0; layer < cut.stages(); ++layer) {
    std::vector<int> steps = cut.steps({TaskKind::forward, layer});
    const std::vector<int>& backward = cut.steps({TaskKind::backward, layer});
    steps.insert(steps.end(), backward.begin(), backward.end());
    by_layer_.push_back(work_of(priced, steps));
  }
  for (const auto& [on, steps] : update_by_layers(cut)) updates_.push_back({on, work_of(priced, steps)});
  scheduled_ = of_model(task_prices(cut, axis, priced.hardware, priced.taken));
  apart_ = of_model(task_prices(cut, axis, priced.hardware, prices_of(priced.estimates)));
  const ChunkBytes bytes = chunk_bytes(cut, live);
  bytes_ = {of_model(bytes.activations),     of_model(bytes.for_weights),      of_model(bytes.gradients),
            of_model(bytes.working_forward), of_model(bytes.working_backward), of_model(bytes.working_split)};
  if (!axis.empty()) message_ = message_of_scalar(priced, axis);
  arrays_ = step_arrays(cut);
  update_share_ = peak_of_update(priced.program) / gradient_bytes(arrays_);
}

template <class T>
std::vector<T> PricedLayers::of_model(const std::vector<T>& of_program) const {
  if (static_cast<Index>(of_program.size()) == layers_ + 2) return of_program;
  std::vector<T> all(static_cast<std::size_t>(layers_) + 2, of_program[static_cast<std::size_t>(middle())]);
  all.front() = of_program.front();
  all.back() = of_program.back();
  return all;
}

TaskCosts PricedLayers::of_model(TaskCosts costs) const {
  for (std::vector<Seconds>* kind : {&costs.forward, &costs.backward, &costs.inputs, &costs.weights}) {
    *kind = of_model(*kind);
  }
  return costs;
}

PricedLayers::Shape PricedLayers::shape_of(const StageLayers& layers, int stage) const {
  const auto on_stage = [&](std::size_t layer) {
    return layers.place[static_cast<std::size_t>(layers.chunk_of[layer])] == stage;
  };
  Shape shape{.first = on_stage(0), .last = on_stage(layers.chunk_of.size() - 1)};
  for (std::size_t layer = 1; layer + 1 < layers.chunk_of.size(); ++layer) shape.between += on_stage(layer) ? 1 : 0;
  return shape;
}

double PricedLayers::times(const std::set<int>& layers, const Shape& shape) const {
  const bool has_first = shape.first && layers.contains(0);
  const bool has_last = shape.last && layers.contains(layers_of_program() - 1);
  if (has_first || has_last) return 1;
  if (!layers.contains(middle())) return 0;
  return layers.size() == 1 ? shape.between : 1;
}

PlannedWork PricedLayers::update_of(const Shape& shape) const {
  PlannedWork work;
  for (const UpdateWork& each : updates_) work.add(each.work, times(each.layers, shape));
  return work;
}

PlannedWork PricedLayers::work_of_stage(const Shape& shape, Index micro_batches) const {
  PlannedWork work;
  for (int layer = 0; layer < layers_of_program(); ++layer) {
    work.add(by_layer_[static_cast<std::size_t>(layer)], times({layer}, shape) * static_cast<double>(micro_batches));
  }
  work.add(update_of(shape));
  return work;
}

RankMemory PricedLayers::memory_of(const Shape& shape, Bytes held) const {
  std::map<Role, Bytes> of;
  for (const StepArray& each : arrays_) of[each.role] += each.bytes * times(each.chunks, shape);
  const Bytes gradients = of[Role::gradient];
  const Bytes update = gradients * update_share_;
  return {of[Role::parameter], of[Role::optimizer_state], std::max(gradients + held, update), update};
}

ChunkBytes PricedLayers::bytes_of_chunks(const StageLayers& layers) const {
  const std::vector<Bytes> none(layers.place.size());
  ChunkBytes chunks{none, none, none, none, none, none};
  for (std::size_t layer = 0; layer < layers.chunk_of.size(); ++layer) {
    const auto chunk = static_cast<std::size_t>(layers.chunk_of[layer]);
    const auto longest = [&](std::vector<Bytes>& to, const std::vector<Bytes>& from) {
      to[chunk] = std::max(to[chunk], from[layer]);
    };
    chunks.activations[chunk] += bytes_.activations[layer];
    chunks.for_weights[chunk] += bytes_.for_weights[layer];
    chunks.gradients[chunk] += bytes_.gradients[layer];
    longest(chunks.working_forward, bytes_.working_forward);
    longest(chunks.working_backward, bytes_.working_backward);
    longest(chunks.working_split, bytes_.working_split);
  }
  return chunks;
}

PlannedStep PricedLayers::step(const TimetableRequest& request) const {
  const std::vector<int> counts = spread_layers(request, scheduled_);
  const StageLayers layers = stage_layers(counts, place_of_chunks(request), static_cast<int>(layers_));
  const TaskCosts costs = costs_of_chunks(scheduled_, layers);
  const Timetable timetable = make_timetable(request, costs);
  const Timing timing = timed(timetable, costs);
  const std::vector<Bytes> held = most_held(timetable, bytes_of_chunks(layers));
  PlannedStep step;
  PlannedWork busiest;
  Seconds update, update_apart;
  for (int stage = 0; stage < request.stages; ++stage) {
    const Shape shape = shape_of(layers, stage);
    const PlannedWork of_update = update_of(shape);
    update = std::max(update, of_update.taken);
    update_apart = std::max(update_apart, of_update.upper);
    const PlannedWork work = work_of_stage(shape, request.micro_batches);
    step.flops += work.flops / static_cast<double>(request.stages);
    step.repeated += work.repeated / static_cast<double>(request.stages);
    if (work.busiest() >= busiest.busiest()) busiest = work;
    const RankMemory memory = memory_of(shape, held[static_cast<std::size_t>(stage)]);
    if (memory.total() > step.memory.total()) step.memory = memory;
  }
  // Every stage gives its part of the norm to the others and gets theirs. The last one also gives the loss.
  const Seconds messages = message_ * static_cast<double>(3 * (request.stages - 1));
  step.scheduled = timing.makespan + update + messages;
  step.upper =
      std::max(step.scheduled, timed(timetable, costs_of_chunks(apart_, layers)).makespan + update_apart + messages);
  step.idle = timing.makespan * timing.bubble();
  step.exposed = busiest.exposed;
  step.math = busiest.math;
  step.attention = busiest.attention;
  step.context = busiest.context;
  // Each way, for every micro-batch one array from each run of layers of a stage to the next.
  const auto runs = static_cast<double>(layers.place.size()) / request.stages;
  const Seconds sent = costs.move * (request.stages > 1 ? static_cast<double>(request.micro_batches) * runs : 0);
  step.comms = std::max(busiest.busiest_link(), sent);
  step.lower = std::min(std::max(busiest.busiest(), sent), step.scheduled);
  step.limiter = sent > busiest.busiest() ? roofline::Limiter::link : busiest.limiter();
  return step;
}

}  // namespace shardline
