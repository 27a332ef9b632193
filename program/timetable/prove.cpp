#include "program/timetable/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "program/timetable/prove_inventory.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Where a thing is, seen from a stage.
enum class Arrival : std::uint8_t { none, waits, read };

/// Walks the events of all stages. The inventory has been taken: every task and both ends of every move stand once.
class ProofWalk {
 public:
  ProofWalk(const Timetable& timetable, const StageEvents& events, const ProofOptions& options)
      : timetable_(timetable),
        events_(events),
        limits_(options.held_limits),
        needs_(chunk_task_count(timetable)),
        done_(task_count(timetable), 0),
        arrivals_(task_count(timetable) * events.size(), Arrival::none),
        latest_(chunk_task_count(timetable), -1),
        at_(events.size(), 0),
        waiting_(events.size(), 0),
        held_(events.size(), 0) {
    for (const TaskKind kind : timetable.kinds) {
      for (int q = 0; q < timetable.chunks(); ++q) {
        const ChunkTask task{kind, q};
        needs_[number_of(timetable, task)] = options.needs ? options.needs(task) : needs(timetable, task);
      }
    }
  }

  Proven walk() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (int z = 0; z < timetable_.stages; ++z) {
        while (step(z)) moved = true;
      }
    }
    if (const std::string standing = standing_events(); !standing.empty()) {
      throw Error("timetable: deadlock with sends that block: " + standing);
    }
    return found_;
  }

 private:
  const Event* next(int z) const {
    const std::vector<Event>& own = events_[static_cast<std::size_t>(z)];
    const std::size_t at = at_[static_cast<std::size_t>(z)];
    return at < own.size() ? &own[at] : nullptr;
  }

  /// Does the next event of stage `z` if it can be done now.
  bool step(int z) {
    const Event* event = next(z);
    if (event == nullptr) return false;
    if (event->kind == EventKind::run) {
      run(z, event->task);
      ++at_[static_cast<std::size_t>(z)];
      return true;
    }
    const bool sends = event->kind == EventKind::send;
    const Event other_end{sends ? EventKind::receive : EventKind::send, event->task, z};
    const Event* theirs = next(event->peer);
    if (theirs == nullptr || *theirs != other_end) return false;
    move(event->task, sends ? z : event->peer, sends ? event->peer : z);
    ++at_[static_cast<std::size_t>(z)];
    ++at_[static_cast<std::size_t>(event->peer)];
    return true;
  }

  void move(const Task& task, int from, int to) {
    if (!done_[number_of(timetable_, task)]) {
      throw Error(fmt::format("timetable: stage {} sends {} before it is made", from, to_string(timetable_, task)));
    }
    arrival(task, to) = Arrival::waits;
    found_.waiting = std::max(found_.waiting, ++waiting_[static_cast<std::size_t>(to)]);
  }

  void run(int z, const Task& task) {
    for (const auto& [kind, chunk] : needs_[number_of(timetable_, task.of_chunk())]) {
      read(z, {kind, chunk, task.micro_batch}, task);
    }
    check_sum_order(z, task);
    hold(z, task);
    done_[number_of(timetable_, task)] = 1;
  }

  void read(int z, const Task& needed, const Task& reader) {
    const auto complain = [&](const char* what) {
      throw Error(fmt::format("timetable: stage {} runs {} before {} {}", z, to_string(timetable_, reader),
                              to_string(timetable_, needed), what));
    };
    SHARDLINE_CHECK(has_task(timetable_, needed), "{} needs {} of chunk {}, which the timetable does not have",
                    to_string(timetable_, reader), to_string(needed.kind), needed.chunk);
    if (timetable_.place_of(needed) == z) {
      if (!done_[number_of(timetable_, needed)]) complain("is done");
      return;
    }
    Arrival& here = arrival(needed, z);
    if (here == Arrival::none) complain("has arrived");
    if (here == Arrival::waits) --waiting_[static_cast<std::size_t>(z)];
    here = Arrival::read;
  }

  void check_sum_order(int z, const Task& task) {
    if (task.kind == TaskKind::forward) return;
    Index& latest = latest_[number_of(timetable_, task.of_chunk())];
    if (task.micro_batch < latest) {
      throw Error(fmt::format("timetable: stage {} runs {} after {}: sums of micro-batches would differ", z,
                              to_string(timetable_, task), to_string(timetable_, {task.kind, task.chunk, latest})));
    }
    latest = task.micro_batch;
  }

  void hold(int z, const Task& task) {
    Index& held = held_[static_cast<std::size_t>(z)];
    if (task.kind == TaskKind::forward) ++held;
    found_.held = std::max(found_.held, held);
    if (!limits_.empty() && held > limits_[static_cast<std::size_t>(z)]) {
      throw Error(fmt::format("timetable: stage {} holds {} activations at {}; its limit is {}", z, held,
                              to_string(timetable_, task), limits_[static_cast<std::size_t>(z)]));
    }
    if (task.kind == last_kind(timetable_)) --held;
  }

  std::string standing_events() const {
    std::string text;
    for (int z = 0; z < timetable_.stages; ++z) {
      if (const Event* event = next(z); event != nullptr) {
        text += fmt::format("{}stage {} {}", text.empty() ? "" : "; ", z, to_string(timetable_, *event));
      }
    }
    return text;
  }

  Arrival& arrival(const Task& task, int z) {
    return arrivals_[number_of(timetable_, task) * events_.size() + static_cast<std::size_t>(z)];
  }

  const Timetable& timetable_;
  const StageEvents& events_;
  const std::vector<Index>& limits_;
  std::vector<std::vector<ChunkTask>> needs_;  ///< by number of the chunk's task
  std::vector<char> done_;                     ///< by task
  std::vector<Arrival> arrivals_;              ///< by task and stage
  std::vector<Index> latest_;                  ///< by number of the chunk's task: the micro-batch that ran last
  std::vector<std::size_t> at_;                ///< by stage: its next event
  std::vector<Index> waiting_;                 ///< by stage
  std::vector<Index> held_;                    ///< by stage
  Proven found_;
};

}  // namespace

Proven prove(const Timetable& timetable, const StageEvents& events, const Sends& sends, const ProofOptions& options) {
  check_sends(timetable, sends);
  SHARDLINE_CHECK(options.held_limits.empty() || options.held_limits.size() == events.size(), "{} limits for {} stages",
                  options.held_limits.size(), events.size());
  prove_inventory(timetable, events, sends);
  return ProofWalk(timetable, events, options).walk();
}

}  // namespace shardline
