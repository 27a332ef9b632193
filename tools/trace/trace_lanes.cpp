#include "tools/trace/trace_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/base/hash.h"

namespace shardline::tools {
namespace {

/// Neighbouring slices that stay in one lane.
using Unit = std::vector<Slice>;

/// Collects units by lane. Units that overlap go into further lanes.
class LaneBook {
 public:
  /// `place` orders lanes with different names.
  void add(const std::pair<int, std::string>& place, Unit unit) { units_[place].push_back(std::move(unit)); }

  std::vector<Lane> lanes() {
    std::vector<Lane> lanes;
    for (auto& [place, units] : units_) {
      std::stable_sort(units.begin(), units.end(),
                       [](const Unit& a, const Unit& b) { return a.front().begin < b.front().begin; });
      const std::size_t first = lanes.size();
      for (Unit& unit : units) {
        std::size_t at = first;
        while (at < lanes.size() && lanes[at].slices.back().end > unit.front().begin) ++at;
        if (at == lanes.size()) lanes.push_back({name(place.second, at - first), {}});
        std::move(unit.begin(), unit.end(), std::back_inserter(lanes[at].slices));
      }
    }
    return lanes;
  }

 private:
  static std::string name(const std::string& of_all, std::size_t further) {
    return further == 0 ? of_all : fmt::format("{} ({})", of_all, further + 1);
  }

  std::map<std::pair<int, std::string>, std::vector<Unit>> units_;
};

/// The order of the lanes.
enum LanePlace { kSteps, kTasks, kPredicted, kCompute, kWaiting, kAxes };

/// A number with three decimals.
double rounded(double number) { return std::round(1e3 * number) / 1e3; }

double microseconds(Seconds time) { return rounded(1e6 * time.value); }

Index whole(double number) { return static_cast<Index>(std::llround(number)); }

class Telling {
 public:
  explicit Telling(const RankStory& story) : story_(story) {}

  RankEvents tell() {
    std::size_t first = 0;
    for (const Recording::Run* run : story_.runs) {
      step_ = run->number;
      const TimeRange time{run->time.begin, run->time.end == Seconds() ? now() : run->time.end};
      book_.add({kSteps, "steps"}, {slice(time, fmt::format("step {}", step_), "step", {{"step", step_}})});
      for (std::size_t i = 0; i < run->work.size();) i += tell_work(*run, i, first);
      first += run->work.size();
      if (story_.stage != nullptr) tell_tasks(*run);
      if (story_.stage != nullptr) tell_prediction(story_.begins[at_++]);
      for (const Recording::Wait& wait : run->waits) {
        const Label& what = label(wait.label);
        book_.add({kWaiting, "waiting"},
                  {slice(wait.time, what.name, "waiting", {{"step", step_}, {"kind", what.kind}})});
      }
      for (const Message& message : run->messages) tell_message(message);
      for (const Recording::Memory& each : run->memory) events_.memory.push_back({ticks(each.at), each.bytes});
    }
    events_.lanes = book_.lanes();
    return std::move(events_);
  }

 private:
  Ticks ticks(Seconds own) const {
    return std::llround((story_.trace->clock().common(own) - story_.zero).value * kTicksPerSecond);
  }
  Slice slice(TimeRange time, std::string name, const char* category, Json arguments) const {
    return {ticks(time.begin), ticks(time.end), std::move(name), category, std::move(arguments)};
  }
  /// Sets the measured time of a slice, equal to its drawn length, and its ratio.
  static Slice measured(Slice slice) {
    const double taken = microseconds_of(slice.end - slice.begin);
    const double predicted = slice.arguments.at("predicted_us");
    slice.arguments["measured_us"] = taken;
    if (predicted > 0) slice.arguments["ratio"] = rounded(taken / predicted);
    return slice;
  }
  const Label& label(int number) const { return story_.trace->labels()[static_cast<std::size_t>(number)]; }

  static std::string axes_text(const Axes& axes) {
    return fmt::format("{} {}", axes.size() == 1 ? "axis" : "axes", to_string(axes));
  }

  /// Adds the operations that ran as one, from `i` on in the run. `first` is the number of the
  /// run's first span. Returns the number of operations.
  std::size_t tell_work(const Recording::Run& run, std::size_t i, std::size_t first) {
    const Recording::Work& work = run.work[i];
    const JointTime& joint = story_.joint[first + i];
    const auto count = static_cast<std::size_t>(work.span.together);
    std::vector<const Label*> labels;
    for (std::size_t k = 0; k < count; ++k) labels.push_back(&label(run.work[i + k].span.label));
    const Label& what = *labels[0];
    const std::string name = count == 1 ? what.name : fmt::format("{} and {} more", what.name, count - 1);
    const Json arguments = arguments_of(labels, work.span, joint);
    if (what.communicates) {
      book_.add({kAxes, axes_text(what.axes)}, collective(work.span, joint, name, arguments));
      return count;
    }
    const std::vector<TimeRange> whole{{work.span.begin, work.span.end}};
    const std::vector<TimeRange>& parts = work.parts.empty() ? whole : work.parts;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      Slice part = measured(slice(parts[k], name, "compute", arguments));
      if (parts.size() > 1) {
        part.arguments["panel"] = fmt::format("{} of {}", k + 1, parts.size());
        part.arguments["ratio"] = nullptr;  // the prediction is for the whole
      }
      book_.add({kCompute, "compute"}, {std::move(part)});
    }
    return count;
  }

  /// From the first to the last of a task's steps that kept the rank.
  std::map<Task, TimeRange> extents_of_tasks(const Recording::Run& run) const {
    std::map<Task, TimeRange> extents;
    for (const auto& [span, parts] : run.work) {
      const std::optional<Task>& task = story_.stage->tasks[static_cast<std::size_t>(span.label)];
      const bool kept = !label(span.label).communicates || span.exposed >= span.end - span.begin;
      if (!task || is_move(span.label) || !kept) continue;
      const auto [at, is_first] = extents.emplace(*task, TimeRange{span.begin, span.end});
      if (!is_first) at->second.end = span.end;
    }
    return extents;
  }

  /// The tasks of the stage without their waits for other stages: these cut them into parts.
  void tell_tasks(const Recording::Run& run) {
    const TracedStage& stage = *story_.stage;
    for (const auto& [task, extent] : extents_of_tasks(run)) {
      Json arguments = arguments_of_task(task);
      arguments["measured_us"] = nullptr;  // see measured()
      const std::size_t number = number_of(stage.timetable, task);
      arguments["predicted_us"] = microseconds(stage.predicted.end[number] - stage.predicted.begin[number]);
      arguments["ratio"] = nullptr;
      std::vector<TimeRange> waits;
      for (const Recording::Wait& wait : run.waits) {
        const bool amid = wait.time.begin >= extent.begin && wait.time.end <= extent.end;
        if (amid && is_move(wait.label)) waits.push_back(wait.time);
      }
      const std::vector<TimeRange> parts = outside(waits, extent);
      for (std::size_t k = 0; k < parts.size(); ++k) {
        Slice part = measured(slice(parts[k], to_string(stage.timetable, task), "task", arguments));
        if (parts.size() > 1) {
          part.arguments["part"] = fmt::format("{} of {}", k + 1, parts.size());
          part.arguments["ratio"] = nullptr;  // the prediction is for the whole
        }
        book_.add({kTasks, "tasks"}, {std::move(part)});
      }
    }
  }

  /// The predicted tasks of the stage, in a step that begins at `begin`.
  void tell_prediction(Seconds begin) {
    const TracedStage& stage = *story_.stage;
    const auto ticks_at = [&](Seconds time) -> Ticks {
      return std::llround((begin + time - story_.zero).value * kTicksPerSecond);
    };
    for (const Task& task : stage.timetable.orders[static_cast<std::size_t>(stage.stage)]) {
      const std::size_t number = number_of(stage.timetable, task);
      book_.add({kPredicted, "tasks, predicted"},
                {{ticks_at(stage.predicted.begin[number]), ticks_at(stage.predicted.end[number]),
                  to_string(stage.timetable, task), "prediction", arguments_of_task(task)}});
    }
  }

  Json arguments_of_task(const Task& task) const {
    return {{"step", step_},
            {"stage", story_.stage->stage},
            {"micro_batch", task.micro_batch},
            {"task", to_string(story_.stage->timetable, task)}};
  }

  bool is_move(int label) const { return move_of(label) >= 0; }
  int move_of(int label) const {
    return story_.stage == nullptr ? -1 : story_.stage->moves[static_cast<std::size_t>(label)];
  }

  /// The stage of a step, and the task to which it belongs.
  void add_task(Json& arguments, int label) const {
    if (story_.stage == nullptr) return;
    arguments["stage"] = story_.stage->stage;
    const std::optional<Task>& task = story_.stage->tasks[static_cast<std::size_t>(label)];
    if (!task) return;
    arguments["micro_batch"] = task->micro_batch;
    arguments["task"] = to_string(story_.stage->timetable, *task);
  }

  /// The rank of the job for a rank of the mesh that runs the operation: of the stage, or of the stages for a move.
  Index rank_of_job(int label, Index rank) const {
    if (story_.stage == nullptr) return rank;
    const Axis& stages = story_.stage->axis;
    const Axes among = is_move(label) ? Axes{stages} : story_.mesh.without(stages).axes();
    return story_.mesh.group(story_.rank, among)[static_cast<std::size_t>(rank)];
  }

  Json arguments_of(const std::vector<const Label*>& labels, const Span& span, const JointTime& joint) const {
    const Label& what = *labels[0];
    Seconds predicted;
    Bytes bytes;
    Bytes wire;
    Flops flops;
    for (const Label* each : labels) {
      predicted += each->predicted;
      bytes += each->bytes;
      wire += each->wire_bytes;
      flops += each->flops;
    }
    Json arguments{{"step", step_},
                   {"kind", what.kind},
                   {"measured_us", nullptr},  // see measured()
                   {"all_ranks_us", microseconds(joint.taken)},
                   {"predicted_us", microseconds(predicted)},
                   {"ratio", nullptr},
                   {"limiter", what.limiter},
                   {"bytes", whole(bytes.value)},
                   {"flops", whole(flops.value)}};
    add_task(arguments, span.label);
    if (!what.axes.empty()) arguments["axis"] = to_string(what.axes);
    if (what.communicates) {
      arguments["wire_bytes"] = whole(wire.value);
      arguments["exposed_us"] = microseconds(span.exposed * span.together);
    }
    if (what.fused) arguments["fused"] = true;
    if (what.swept) arguments["swept"] = true;
    if (labels.size() > 1) {
      for (const Label* each : labels) arguments["operations"].push_back(each->name);
    }
    return arguments;
  }

  /// Cuts a collective at the entry of the last rank of its group. Before that it waits for this
  /// rank.
  Unit collective(const Span& span, const JointTime& joint, const std::string& name, const Json& arguments) const {
    Slice whole = slice({span.begin, span.end}, name, "collective", arguments);
    const Ticks entry = std::llround((joint.last_entry - story_.zero).value * kTicksPerSecond);
    const Ticks cut = std::min(entry, whole.end);
    if (cut <= whole.begin) return {measured(whole)};
    Slice early{whole.begin,
                cut,
                fmt::format("until rank {} enters", rank_of_job(span.label, joint.last_rank)),
                "early",
                {{"step", step_}, {"kind", label(span.label).kind}, {"operation", name}}};
    whole.begin = cut;
    return {early, measured(whole)};
  }

  void tell_message(const Message& message) {
    const Label& what = label(message.collective.label);
    const Index from = rank_of_job(message.collective.label, message.from);
    const Index to = rank_of_job(message.collective.label, message.to);
    Slice told = slice(
        {message.posted, message.completed},
        fmt::format("{} {} rank {}", what.kind, message.sends ? "to" : "from", message.sends ? to : from), "message",
        {{"step", step_},
         {"operation", operation_of(message, from, to)},
         {"from", from},
         {"to", to},
         {"bytes", message.bytes},
         {"strand", message.strand},
         {"number", message.number}});
    told.end = std::max(told.end, told.begin + 1);
    told.arrows.push_back({id_of(message, from, to), message.sends});
    std::string lane = axes_text(axes_between(from, to, what.axes));
    if (message.heading != Heading::none) lane += message.heading == Heading::forward ? " forward" : " backward";
    book_.add({kAxes, fmt::format("{}, {}", lane, message.sends ? "sent" : "received")}, {std::move(told)});
  }

  /// The name of the operation of a message, the same at both ends.
  std::string operation_of(const Message& message, Index from, Index to) const {
    const int number = message.collective.label;
    if (!is_move(number)) return label(number).name;
    const std::optional<Task>& task = story_.stage->tasks[static_cast<std::size_t>(number)];
    const std::string what = task ? to_string(story_.stage->timetable, *task) : "update";
    return fmt::format("{}, from rank {} to rank {}", what, from, to);
  }

  /// The axis along which a message goes. If it goes along several, the axes of its collective.
  Axes axes_between(Index from_rank, Index to_rank, const Axes& all) const {
    const Coordinates from = story_.mesh.coordinates(from_rank);
    const Coordinates to = story_.mesh.coordinates(to_rank);
    Axes differ;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] != to[i]) differ.push_back(story_.mesh.axes()[i]);
    }
    return differ.size() == 1 ? differ : all;
  }

  /// Made of values that both ends know: the stages number their steps differently, but not their moves. Hexadecimal,
  /// because viewers need it.
  std::string id_of(const Message& message, Index from, Index to) const {
    const bool moves = is_move(message.collective.label);
    const std::string what = moves ? fmt::format("move {}", move_of(message.collective.label))
                                   : fmt::format("{} {}", message.collective.label, message.collective.number);
    const std::string text = fmt::format("{} {} {} {} {} {}", step_, what, message.strand, message.number, from, to);
    return fmt::format("0x{:x}", hash_of(text));
  }

  const RankStory& story_;
  LaneBook book_;
  RankEvents events_;
  Index step_ = 0;
  std::size_t at_ = 0;  ///< runs told
};

}  // namespace

std::vector<Span> spans_of(const std::vector<const Recording::Run*>& runs) {
  std::vector<Span> spans;
  for (const Recording::Run* run : runs) {
    for (const Recording::Work& work : run->work) spans.push_back(work.span);
  }
  return spans;
}

RankEvents events_of(const RankStory& story) { return Telling(story).tell(); }

}  // namespace shardline::tools
