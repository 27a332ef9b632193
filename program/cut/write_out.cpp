#include "program/cut/write_out.h"

#include <algorithm>
#include <set>
#include <utility>

#include "program/cut/move_numbers.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

class Writer {
 public:
  Writer(const Cut& cut, const StageOfStep& place)
      : cut_(cut),
        micro_(cut.micro()),
        stage_(place.stage),
        count_(place.micro_batches),
        numbers_(cut, place.micro_batches),
        axis_(place.axis),
        current_(static_cast<std::size_t>(place.micro_batches)) {
    RankProgram& out = result_.program;
    out = micro_;
    out.steps.clear();
    if (cut.stages() > 1) out.place = StagePlace{place.axis, stage_, cut.stages()};
    for (const auto& [before, after] : micro_.program.updates) {
      if (is_sum(before)) sums_[micro_.inputs.at(before)] = micro_.finals.at(after);
    }
    if (cut.stages() > 1) keep_what_is_here();
    remove_sums();
    find_closing();
    for (Index batch = 0; batch < count_; ++batch) give_samples(batch);
  }

  WrittenOut write(const std::vector<Event>& events) {
    for (const Event& event : events) {
      task_ = event.task;
      if (event.kind == EventKind::run) write_task(event.task);
      if (event.kind == EventKind::send) write_send(event);
      if (event.kind == EventKind::receive) write_receive(event);
    }
    task_.reset();
    write_update();
    return std::move(result_);
  }

 private:
  bool is_sum(ArrayId array) const { return micro_.program.array(array).role == Role::sum; }
  const Step& step(int number) const { return micro_.steps[static_cast<std::size_t>(number)]; }

  /// Inputs, outputs and state of this stage alone.
  void keep_what_is_here() {
    RankProgram& out = result_.program;
    const auto elsewhere = [&](ArrayId input) { return !cut_.homes(input).contains(stage_); };
    const auto not_made = [&](const auto& made) { return !cut_.has(made.second, stage_); };
    std::erase_if(out.program.inputs, elsewhere);
    std::erase_if(out.inputs, [&](const auto& input) { return elsewhere(input.first); });
    std::erase_if(out.program.updates, [&](const auto& update) { return elsewhere(update.first); });
    std::erase_if(out.finals, not_made);
    std::erase_if(out.program.outputs, [&](ArrayId output) { return !out.finals.contains(output); });
  }

  /// Sums are neither inputs nor state of the whole step.
  void remove_sums() {
    RankProgram& out = result_.program;
    const auto sum = [&](ArrayId array) { return is_sum(array); };
    std::erase_if(out.program.inputs, sum);
    std::erase_if(out.program.outputs, sum);
    std::erase_if(out.program.updates, [&](const auto& update) { return is_sum(update.first); });
    std::erase_if(out.inputs, [&](const auto& input) { return is_sum(input.first); });
    std::erase_if(out.finals, [&](const auto& made) { return is_sum(made.first); });
  }

  /// Steps of the update that only bring a sum to its layout in the update.
  void find_closing() {
    std::set<VersionId> known;
    for (const auto& [sum, updated] : sums_) {
      if (adds_here(updated)) known.insert(updated);
    }
    for (const UpdateEvent& event : cut_.update()) {
      if (event.stage != stage_ || event.step < 0) continue;
      const Step& brought = step(event.step);
      const bool brings = brought.kind != StepKind::compute || micro_.phase_of(brought).kernel->form == KernelForm::sum;
      if (!brings || !all_in(known, brought.operands)) continue;
      closing_.insert(event.step);
      known.insert(brought.results.begin(), brought.results.end());
    }
  }

  static bool all_in(const std::set<VersionId>& known, const std::vector<VersionId>& versions) {
    return std::all_of(versions.begin(), versions.end(), [&](VersionId v) { return known.contains(v); });
  }

  /// True if a task of this stage adds to the sum.
  bool adds_here(VersionId updated) const { return cut_.has(updated, stage_) && !is_brought(updated); }

  bool is_brought(VersionId version) const {
    const std::vector<UpdateEvent>& events = cut_.update();
    return std::any_of(events.begin(), events.end(), [&](const UpdateEvent& event) {
      const auto& moved = event.versions;
      return event.to == stage_ && std::find(moved.begin(), moved.end(), version) != moved.end();
    });
  }

  void add(Step step) {
    result_.program.steps.push_back(std::move(step));
    result_.tasks.push_back(task_);
  }

  std::map<VersionId, VersionId>& versions_of(Index batch) { return current_[static_cast<std::size_t>(batch)]; }

  /// The version that stands for `version` in a micro-batch. Inputs and the update have one for all.
  VersionId now(VersionId version, Index batch) const {
    const auto& mine = current_[static_cast<std::size_t>(batch)];
    const auto found = mine.find(version);
    return found == mine.end() ? version : found->second;
  }

  VersionId copy_of(VersionId version, Index batch) {
    Version copy = micro_.version(version);
    copy.region.micro_batch = static_cast<int>(batch);
    result_.program.versions.push_back(std::move(copy));
    return static_cast<VersionId>(result_.program.versions.size()) - 1;
  }

  /// A result of a task or a move: the first micro-batch has the versions of the program itself.
  VersionId make(VersionId version, Index batch) {
    return versions_of(batch)[version] = batch == 0 ? version : copy_of(version, batch);
  }

  /// The first micro-batch reads the samples of the program itself; each later one gets arrays of its own.
  void give_samples(Index batch) {
    std::map<ArrayId, ArrayId>& mine = result_.samples.emplace_back();
    RankProgram& out = result_.program;
    for (const auto& [input, version] : micro_.inputs) {
      const Role role = micro_.program.array(input).role;
      const bool sample = role == Role::tokens || role == Role::stream;
      if (!sample || !out.inputs.contains(input)) continue;
      mine[input] = input;
      if (batch == 0) continue;
      Array array = micro_.program.array(input);
      array.name += fmt::format("@{}", batch + 1);
      out.program.arrays.push_back(std::move(array));
      const auto id = static_cast<ArrayId>(out.program.arrays.size()) - 1;
      out.program.inputs.push_back(id);
      out.declared[id] = out.declared.at(input);
      const VersionId copy = copy_of(version, batch);
      out.versions[static_cast<std::size_t>(copy)].array = id;
      out.inputs[id] = copy;
      versions_of(batch)[version] = copy;
      mine[input] = id;
    }
  }

  void write_task(const Task& task) {
    for (const int number : cut_.steps(task.of_chunk())) {
      write_step(step(number), task.micro_batch);
      if (task.micro_batch + 1 == count_) close(step(number));
    }
  }

  /// True if the step casts a master, or brings what was cast to where it rests: the same in every micro-batch.
  bool is_done_once(const Step& step) const {
    if (step.results.size() != 1 || micro_.array_of(step.results[0]).role != Role::parameter) return false;
    const auto declared = micro_.declared.find(micro_.version(step.results[0]).array);
    const bool rests =
        declared != micro_.declared.end() && declared->second == micro_.version(step.results[0]).sharding;
    return (step.kind == StepKind::compute || rests) &&
           std::all_of(step.operands.begin(), step.operands.end(), [&](VersionId v) {
             return once_.contains(v) || (is_input(v) && micro_.array_of(v).role == Role::master);
           });
  }

  bool is_input(VersionId version) const {
    const auto input = micro_.inputs.find(micro_.version(version).array);
    return input != micro_.inputs.end() && input->second == version;
  }

  void write_step(const Step& step, Index batch) {
    for (const VersionId operand : step.operands) {
      const auto before = running_.find(operand);
      if (before != running_.end()) versions_of(batch)[operand] = before->second;
    }
    if (reads_nothing_yet(step)) return;
    const bool once = is_done_once(step);
    if (once && once_.contains(step.results[0])) {
      versions_of(batch)[step.results[0]] = once_.at(step.results[0]);
      return;
    }
    if (const VersionId part = first_part(step); part >= 0) {
      versions_of(batch)[step.results[0]] = now(part, batch);
    } else {
      Step copy = step;
      copy.region.micro_batch = static_cast<int>(batch);
      for (VersionId& operand : copy.operands) operand = now(operand, batch);
      for (VersionId& result : copy.results) result = make(result, batch);
      add(std::move(copy));
    }
    if (once) once_[step.results[0]] = now(step.results[0], batch);
    for (const VersionId result : step.results) {
      unset_.erase(result);
      for (const auto& [sum, updated] : sums_) {
        if (updated == result) running_[sum] = now(result, batch);
      }
    }
  }

  /// True if the version is a sum to which nothing has been added yet, or a copy of one.
  bool is_unset(VersionId version) const {
    return unset_.contains(version) || (sums_.contains(version) && !running_.contains(version));
  }

  /// A conversion of a sum that is not there yet: nothing is to be done.
  bool reads_nothing_yet(const Step& step) {
    if (step.operands.size() != 1 || !is_unset(step.operands[0])) return false;
    unset_.insert(step.results[0]);
    return true;
  }

  /// The part that is the sum, because nothing was added before it; -1 if the step does not add it.
  VersionId first_part(const Step& step) const {
    if (step.operands.size() != 2) return -1;
    if (is_unset(step.operands[0])) return step.operands[1];
    return is_unset(step.operands[1]) ? step.operands[0] : VersionId{-1};
  }

  std::vector<VersionId> shipped(const ChunkTask& task, int to) const {
    std::vector<VersionId> versions;
    for (const Shipped& each : cut_.ships(task)) {
      if (each.to == to) versions.push_back(each.version);
    }
    return versions;
  }

  void write_send(const Event& event) {
    std::vector<VersionId> versions = shipped(event.task.of_chunk(), event.peer);
    const Region region = region_of(versions, event.task.micro_batch);
    for (VersionId& version : versions) version = now(version, event.task.micro_batch);
    write_move(StepKind::send, std::move(versions), event.peer, numbers_.of(event.task, event.peer), region);
  }

  void write_receive(const Event& event) {
    std::vector<VersionId> versions = shipped(event.task.of_chunk(), stage_);
    const Region region = region_of(versions, event.task.micro_batch);
    for (VersionId& version : versions) version = make(version, event.task.micro_batch);
    write_move(StepKind::receive, std::move(versions), event.peer, numbers_.of(event.task, stage_), region);
  }

  /// Where the first of some versions is made.
  Region region_of(const std::vector<VersionId>& versions, Index batch) const {
    Region region = micro_.version(versions.at(0)).region;
    region.micro_batch = static_cast<int>(batch);
    return region;
  }

  void write_move(StepKind kind, std::vector<VersionId> versions, int peer, int tag, Region region) {
    Step move;
    move.kind = kind;
    (kind == StepKind::send ? move.operands : move.results) = std::move(versions);
    move.axes = {axis_};
    move.region = region;
    move.peer = peer;
    move.tag = tag;
    add(std::move(move));
  }

  /// In the last micro-batch, after `made`: the closing steps of the sums that are whole now.
  void close(const Step& made) {
    whole_.insert(made.results.begin(), made.results.end());
    for (auto at = closing_.begin(); at != closing_.end();) {
      const Step& brings = step(*at);
      if (!all_in(whole_, brings.operands)) {
        ++at;
        continue;
      }
      whole_.insert(brings.results.begin(), brings.results.end());
      Region region = made.region;
      region.micro_batch = static_cast<int>(count_) - 1;
      write_of_update(brings, region);
      at = closing_.erase(at);
    }
  }

  /// A step of the update. A sum of one term is that term under another name: nothing is copied.
  void write_of_update(const Step& step, Region region) {
    const Index last = count_ - 1;
    if (is_renaming(micro_, step)) {
      const VersionId same = versions_of(last)[step.results[0]] = now(step.operands[0], last);
      result_.program.versions[static_cast<std::size_t>(same)].array = micro_.version(step.results[0]).array;
      for (auto& [array, version] : result_.program.finals) version = version == step.results[0] ? same : version;
      return;
    }
    Step copy = step;
    copy.region = region;
    for (VersionId& operand : copy.operands) operand = now(operand, last);
    add(std::move(copy));
  }

  /// The rest of the update. It reads what the last micro-batch leaves.
  void write_update() {
    const Index last = count_ - 1;
    const Region region{Pass::update, 0, 0};
    for (std::size_t i = 0; i < cut_.update().size(); ++i) {
      const UpdateEvent& event = cut_.update()[i];
      const bool moves = event.step < 0;
      if (moves && (event.stage == stage_ || event.to == stage_)) {
        std::vector<VersionId> versions = event.versions;
        for (VersionId& version : versions) version = now(version, last);
        const bool sends = event.stage == stage_;
        write_move(sends ? StepKind::send : StepKind::receive, std::move(versions), sends ? event.to : event.stage,
                   numbers_.of_update(i), region);
      }
      if (moves || event.stage != stage_ || all_in(whole_, step(event.step).results)) continue;
      write_of_update(step(event.step), step(event.step).region);
    }
  }

  const Cut& cut_;
  const RankProgram& micro_;
  int stage_;
  Index count_;
  MoveNumbers numbers_;
  Axis axis_;
  WrittenOut result_;
  std::optional<Task> task_;                ///< of the steps that are written now; none: the update
  std::map<VersionId, VersionId> sums_;     ///< as it arrives -> as it is after the part is added
  std::map<VersionId, VersionId> running_;  ///< by sum as it arrives: what the micro-batches so far have added up
  std::map<VersionId, VersionId> once_;     ///< version of `micro_` -> what the first micro-batch made of it for all
  std::set<VersionId> unset_;               ///< copies of sums to which nothing has been added yet
  std::set<int> closing_;                   ///< steps of the update, by number, that are not written yet
  std::set<VersionId> whole_;               ///< versions of `micro_` that are whole: of the last micro-batch
  std::vector<std::map<VersionId, VersionId>> current_;  ///< by micro-batch, and version of `micro_`
};

}  // namespace

WrittenOut write_out(const Cut& cut, const StageOfStep& place) {
  require(place.micro_batches >= 1, "{} micro-batches: at least 1", place.micro_batches);
  return Writer(cut, place).write(place.events.at(static_cast<std::size_t>(place.stage)));
}

WrittenOut write_out(const RankProgram& micro, Index micro_batches) {
  int layers = 0;
  for (const Step& step : micro.steps) layers = std::max(layers, step.region.layer + 1);
  const Cut cut(micro, {.place = {0}, .chunk_of = std::vector<int>(static_cast<std::size_t>(layers), 0)});
  StageEvents events(1);
  for (Index batch = 0; batch < micro_batches; ++batch) {
    events[0].push_back({.task = {TaskKind::forward, 0, batch}});
    events[0].push_back({.task = {TaskKind::backward, 0, batch}});
  }
  return write_out(cut, {.axis = "", .stage = 0, .micro_batches = micro_batches, .events = events});
}

}  // namespace shardline
