#include "collectives/run/progress.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "collectives/shared/arena.h"
#include "runtime/base/check.h"
#include "runtime/host/interrupt.h"
#include "runtime/trace/clock.h"

namespace shardline::collectives {
namespace {

/// A waiting rank yields its core after this many polls that moved nothing: some tens of microseconds, about the time
/// of a segment. With more ranks than cores it yields after every such poll: the peer may be waiting for the core.
constexpr Index kPollsBeforeYield = 256;

Index polls_before_yield(const Mesh& mesh) { return mesh.crowded() ? 1 : kPollsBeforeYield; }

/// All engines of the process. A rank that waits for a run of one mesh must also advance the runs of the other meshes:
/// its peer may be waiting for one of them.
std::vector<Engine*>& engines() {
  static std::vector<Engine*> all;
  return all;
}

/// Detects a wait in which nothing moves.
class Patience {
 public:
  Patience(Seconds limit, Index polls_before_yield) : limit_(limit), polls_before_yield_(polls_before_yield) {}

  void moved() { polls_ = 0; }
  /// False if nothing has moved for the limit.
  bool idle() {
    if (++polls_ < polls_before_yield_) return true;
    sched_yield();
    const auto now = std::chrono::steady_clock::now();
    if (polls_ == polls_before_yield_) since_ = now;
    return std::chrono::duration<double>(now - since_).count() < limit_.value;
  }

 private:
  Seconds limit_;
  Index polls_before_yield_;
  Index polls_ = 0;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace

bool poll_all() {
  bool moved = false;
  for (Engine* engine : engines()) moved = engine->poll() || moved;
  return moved;
}

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this == &other) return *this;
  report_dropped();
  run_ = std::move(other.run_);
  engine_ = other.engine_;
  settled_ = other.settled_;
  return *this;
}

Handle::~Handle() { report_dropped(); }

void Handle::report_dropped() const {
  if (run_ == nullptr || settled_ || std::uncaught_exceptions() > 0) return;
  std::fprintf(stderr, "shardline: %s was started and its handle dropped without wait()\n",
               run_->job().label_here().c_str());
#ifndef NDEBUG
  std::abort();
#endif
}

bool Handle::done() {
  if (!run_->done()) poll_all();
  settled_ = run_->done();
  return settled_;
}

void Handle::wait() {
  if (run_->unsupplied() > 0) {
    settled_ = true;
    throw Error(fmt::format("{}: {} of the {} elements of its input were not supplied", run_->job().label_here(),
                            run_->unsupplied(), run_->job().input_size));
  }
  if (!run_->done()) wait_until([this] { return run_->done(); });
  settled_ = true;
}

void Handle::wait_until(const std::function<bool()>& ready) {
  Patience patience(engine_->timeout(), polls_before_yield(engine_->mesh()));
  while (!ready()) {
    Interruption::attend();
    if (poll_all()) {
      patience.moved();
    } else if (!patience.idle()) {
      settled_ = true;
      throw Error(fmt::format("{}: nothing has moved for {}: {}", run_->job().label_here(),
                              to_string(engine_->timeout()), run_->missing()));
    }
  }
}

Engine::Engine(const Mesh& mesh) : mesh_(mesh) { engines().push_back(this); }

Engine::~Engine() {
  std::erase(engines(), this);
  if (runs_.empty()) return;
  if (std::uncaught_exceptions() == 0) {
    for (const auto& run : runs_) {
      std::fprintf(stderr, "shardline: an engine was destroyed with %s in flight: %s\n",
                   run->job().label_here().c_str(), run->missing().c_str());
    }
  }
  // MPI may still read and write the buffers, so they must never be freed.
  static_cast<void>(new std::vector<std::shared_ptr<CollectiveRun>>(std::move(runs_)));
}

void Engine::set_arena(std::shared_ptr<Arena> arena) {
  SHARDLINE_CHECK(runs_.empty(), "an engine with {} operations in flight is given an arena", runs_.size());
  SHARDLINE_CHECK(arena == nullptr || &arena->mesh() == &mesh_, "an engine is given the arena of another mesh");
  arena_ = std::move(arena);
}

bool Engine::poll() {
  bool moved = false;
  bool finished = false;
  for (const auto& run : runs_) {
    moved = run->advance() || moved;
    finished = finished || run->done();
  }
  if (finished) std::erase_if(runs_, [](const auto& run) { return run->done(); });
  for (auto& [group, budget] : sends_) budget.polled(now());
  return moved;
}

bool Engine::may_send(const Job& job) {
  if (sends(job).allows()) return true;
  const auto oldest = std::find_if(runs_.begin(), runs_.end(),
                                   [&](const auto& run) { return run->job().group == job.group && !run->done(); });
  return oldest == runs_.end() || &(*oldest)->job() == &job;
}

Handle Engine::start(std::shared_ptr<CollectiveRun> run) {
  runs_.push_back(run);
  run->advance();
  if (run->done()) std::erase(runs_, run);
  return {std::move(run), this};
}

}  // namespace shardline::collectives
