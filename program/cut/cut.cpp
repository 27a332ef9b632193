#include "program/cut/cut.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace shardline {

int StageLayers::stages() const { return place.empty() ? 1 : *std::max_element(place.begin(), place.end()) + 1; }

Cut::Cut(const RankProgram& micro, StageLayers layers)
    : micro_(micro), layers_(std::move(layers)), stages_(layers_.stages()) {
  for (const auto& [array, version] : micro.inputs) inputs_.insert(version);
  for (std::size_t i = 0; i < micro.steps.size(); ++i) {
    for (const VersionId v : micro.steps[i].results) maker_[v] = static_cast<int>(i);
  }
  cut_passes();
  for (int chunk = 0; chunk < static_cast<int>(layers_.place.size()); ++chunk) split_backward(chunk);
  find_needs();
  cut_update();
}

const std::vector<int>& Cut::steps(const ChunkTask& task) const {
  static const std::vector<int> kNone;
  const auto found = steps_.find(task);
  return found == steps_.end() ? kNone : found->second;
}

const std::vector<Shipped>& Cut::ships(const ChunkTask& task) const {
  static const std::vector<Shipped> kNone;
  const auto found = ships_.find(task);
  return found == ships_.end() ? kNone : found->second;
}

const std::set<int>& Cut::homes(ArrayId input) const {
  static const std::set<int> kNone;
  const auto found = homes_.find(input);
  return found == homes_.end() ? kNone : found->second;
}

bool Cut::has(VersionId version, int stage) const {
  if (is_input(version)) return homes(micro_.version(version).array).contains(stage);
  const auto found = at_.find(version);
  return found != at_.end() && found->second.contains(stage);
}

Sends Cut::sends(const std::vector<TaskKind>& kinds) const {
  Sends sends;
  for (const auto& [task, shipped] : ships_) {
    if (std::find(kinds.begin(), kinds.end(), task.kind) == kinds.end()) continue;
    std::set<int> to;
    for (const Shipped& each : shipped) to.insert(each.to);
    if (!to.empty()) sends[task] = {to.begin(), to.end()};
  }
  return sends;
}

std::vector<ChunkTask> Cut::needs(const ChunkTask& task, bool split) const {
  std::set<ChunkTask> all;
  const bool whole = task.kind == TaskKind::backward;
  for (const TaskKind kind : {TaskKind::forward, TaskKind::inputs, TaskKind::weights}) {
    if (whole ? kind == TaskKind::forward : kind != task.kind) continue;
    const auto found = reads_.find({kind, task.chunk});
    if (found == reads_.end()) continue;
    for (ChunkTask each : found->second) {
      if (!split && each.kind != TaskKind::forward) each.kind = TaskKind::backward;
      if (each != task) all.insert(each);
    }
  }
  return {all.begin(), all.end()};
}

void Cut::cut_passes() {
  for (std::size_t i = 0; i < micro_.steps.size(); ++i) {
    const Region& region = micro_.steps[i].region;
    if (region.pass == Pass::update) continue;
    SHARDLINE_CHECK(region.layer >= 0 && region.layer < static_cast<int>(layers_.chunk_of.size()),
                    "a step of layer {}, in a cut of {} layers", region.layer, layers_.chunk_of.size());
    const TaskKind kind = region.pass == Pass::forward ? TaskKind::forward : TaskKind::backward;
    put(static_cast<int>(i), {kind, layers_.chunk_of[static_cast<std::size_t>(region.layer)]});
  }
}

void Cut::put(int number, const ChunkTask& task) {
  const Step& step = micro_.steps[static_cast<std::size_t>(number)];
  for (const VersionId v : step.operands) need(v, stage_of(task), task);
  for (const VersionId v : step.results) {
    at_[v].insert(stage_of(task));
    task_of_.emplace(v, task);
  }
  steps_[task].push_back(number);
}

void Cut::need(VersionId version, int stage, const ChunkTask& task) {
  const ArrayId array = micro_.version(version).array;
  if (is_input(version)) {
    homes_[array].insert(stage);
  } else if (!at_[version].contains(stage)) {
    if (micro_.inputs.contains(array) || micro_.program.array(array).role == Role::parameter) {  // a copy of an input
      put(maker_.at(version), task);
    } else {
      ships_[task_of_.at(version)].push_back({version, stage});
      at_[version].insert(stage);
    }
  }
}

/// I and W of a chunk from its B, and what leaves after each.
void Cut::split_backward(int chunk) {
  const ChunkTask whole{TaskKind::backward, chunk};
  std::set<VersionId> wanted;
  for (const Shipped& each : ships(whole)) wanted.insert(each.version);
  const std::vector<int> all = steps(whole);
  const auto is_stream_gradient = [&](VersionId v) {
    const Array& array = micro_.array_of(v);
    return array.role == Role::gradient && micro_.program.array(array.primal).role == Role::stream;
  };
  std::set<int> early;
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const Step& step = micro_.steps[static_cast<std::size_t>(*at)];
    const bool needed = std::any_of(step.results.begin(), step.results.end(),
                                    [&](VersionId v) { return wanted.contains(v) || is_stream_gradient(v); });
    if (!needed) continue;
    early.insert(*at);
    wanted.insert(step.operands.begin(), step.operands.end());
  }
  for (const int step : all)
    steps_[{early.contains(step) ? TaskKind::inputs : TaskKind::weights, chunk}].push_back(step);
  // All that leaves is wanted, so I makes it.
  if (!ships(whole).empty()) ships_[{TaskKind::inputs, chunk}] = ships(whole);
}

void Cut::find_needs() {
  std::map<std::pair<VersionId, int>, ChunkTask> makers;  // on a stage
  std::map<VersionId, ChunkTask> first;
  for (const auto& [task, steps] : steps_) {
    if (task.kind == TaskKind::backward) continue;
    for (const int number : steps) {
      for (const VersionId v : micro_.steps[static_cast<std::size_t>(number)].results) {
        makers.emplace(std::pair(v, stage_of(task)), task);
        first.emplace(v, task);
      }
    }
  }
  for (const auto& [task, steps] : steps_) {
    if (task.kind == TaskKind::backward) continue;
    for (const int number : steps) {
      for (const VersionId v : micro_.steps[static_cast<std::size_t>(number)].operands) {
        if (is_input(v)) continue;
        const auto here = makers.find({v, stage_of(task)});
        const ChunkTask& maker = here == makers.end() ? first.at(v) : here->second;
        if (maker != task) reads_[task].insert(maker);
      }
    }
  }
}

/// The stages of the parameter that a step of the update belongs to; all stages for scalars.
std::set<int> Cut::stages_of_update(const Step& step) const {
  std::vector<ArrayId> arrays;
  for (const VersionId v : step.operands) arrays.push_back(micro_.version(v).array);
  for (const VersionId v : step.results) arrays.push_back(micro_.version(v).array);
  for (ArrayId id : arrays) {
    for (const auto& [before, after] : micro_.program.updates) id = id == after ? before : id;
    const Array& array = micro_.program.array(id);
    const auto is_weight = [](const Array& a) { return a.role == Role::parameter || a.role == Role::master; };
    const ArrayId owner = is_weight(array) ? id : array.primal;
    if (owner >= 0 && is_weight(micro_.program.array(owner)) && homes_.contains(owner)) return homes_.at(owner);
  }
  std::set<int> all;
  for (int stage = 0; stage < stages_; ++stage) all.insert(stage);
  return all;
}

void Cut::cut_update() {
  for (const auto& [before, after] : micro_.program.updates) {
    if (micro_.program.array(before).role == Role::sum) homes_[before] = at_[micro_.finals.at(after)];
  }
  for (std::size_t i = 0; i < micro_.steps.size(); ++i) {
    const Step& step = micro_.steps[i];
    if (step.region.pass != Pass::update) continue;
    const std::set<int> stages = stages_of_update(step);
    for (const int stage : stages) bring(step.operands, stage);
    for (const int stage : stages) update_.push_back({.stage = stage, .step = static_cast<int>(i)});
    for (const VersionId v : step.results) at_[v] = stages;
  }
  std::vector<VersionId> scalars;
  for (const ArrayId output : micro_.program.outputs) {
    if (micro_.program.array(output).role == Role::whole) scalars.push_back(micro_.finals.at(output));
  }
  for (int stage = 0; stage < stages_; ++stage) bring(scalars, stage);
}

/// Moves what `stage` lacks of these versions there: one move from each stage that has some.
void Cut::bring(const std::vector<VersionId>& versions, int stage) {
  std::map<int, std::vector<VersionId>> from;
  for (const VersionId v : versions) {
    if (is_input(v)) {
      homes_[micro_.version(v).array].insert(stage);
    } else if (!at_.at(v).contains(stage)) {
      from[*at_.at(v).begin()].push_back(v);
      at_[v].insert(stage);
    }
  }
  for (auto& [source, moved] : from) update_.push_back({.stage = source, .step = -1, .to = stage, .versions = moved});
}

bool is_renaming(const RankProgram& program, const Step& step) {
  return step.kind == StepKind::compute && step.operands.size() == 1 &&
         program.phase_of(step).kernel->form == KernelForm::sum;
}

}  // namespace shardline
