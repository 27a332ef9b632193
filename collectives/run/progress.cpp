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

namespace shardline::collectives {
namespace {

/// Fruitless rounds before a waiting rank gives its core away each round: some tens of microseconds, about what a
/// segment takes. Where ranks outnumber the cores it does so at once: the peer may be waiting for the core.
constexpr Index kRoundsBeforeYield = 256;

Index rounds_before_yield(const Mesh& mesh) { return mesh.crowded() ? 1 : kRoundsBeforeYield; }

/// All engines of the process. A rank that waits for an operation of one mesh must also serve those of the others: its
/// peer may be waiting for one of them first.
std::vector<Engine*>& engines() {
  static std::vector<Engine*> all;
  return all;
}

bool poll_all() {
  bool moved = false;
  for (Engine* engine : engines()) moved = engine->poll() || moved;
  return moved;
}

/// Watches for a wait in which nothing moves.
class Patience {
 public:
  Patience(Seconds limit, Index rounds_before_yield) : limit_(limit), rounds_before_yield_(rounds_before_yield) {}

  void moved() { rounds_ = 0; }
  /// False once nothing has moved for the limit.
  bool idle() {
    if (++rounds_ < rounds_before_yield_) return true;
    sched_yield();
    const auto now = std::chrono::steady_clock::now();
    if (rounds_ == rounds_before_yield_) since_ = now;
    return std::chrono::duration<double>(now - since_).count() < limit_.value;
  }

 private:
  Seconds limit_;
  Index rounds_before_yield_;
  Index rounds_ = 0;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this == &other) return *this;
  report_dropped();
  operation_ = std::move(other.operation_);
  engine_ = other.engine_;
  settled_ = other.settled_;
  return *this;
}

Handle::~Handle() { report_dropped(); }

void Handle::report_dropped() const {
  if (operation_ == nullptr || settled_ || std::uncaught_exceptions() > 0) return;
  std::fprintf(stderr, "shardline: %s was started and its handle dropped without wait()\n",
               operation_->job().label_here().c_str());
#ifndef NDEBUG
  std::abort();
#endif
}

bool Handle::done() {
  if (!operation_->done()) poll_all();
  settled_ = operation_->done();
  return settled_;
}

void Handle::wait() {
  if (operation_->unsupplied() > 0) {
    settled_ = true;
    throw Error(fmt::format("{}: {} of the {} elements of its input were not supplied", operation_->job().label_here(),
                            operation_->unsupplied(), operation_->job().input_size));
  }
  if (!operation_->done()) wait_until([this] { return operation_->done(); });
  settled_ = true;
}

void Handle::wait_until(const std::function<bool()>& ready) {
  Patience patience(engine_->timeout(), rounds_before_yield(engine_->mesh()));
  while (!ready()) {
    Interruption::attend();
    if (poll_all()) {
      patience.moved();
    } else if (!patience.idle()) {
      settled_ = true;
      throw Error(fmt::format("{}: nothing has moved for {}: {}", operation_->job().label_here(),
                              to_string(engine_->timeout()), operation_->missing()));
    }
  }
}

Engine::Engine(const Mesh& mesh) : mesh_(mesh) { engines().push_back(this); }

Engine::~Engine() {
  std::erase(engines(), this);
  if (operations_.empty()) return;
  if (std::uncaught_exceptions() == 0) {
    for (const auto& operation : operations_) {
      std::fprintf(stderr, "shardline: an engine was destroyed with %s in flight: %s\n",
                   operation->job().label_here().c_str(), operation->missing().c_str());
    }
  }
  // MPI may still read and write the buffers, so they must never be freed.
  static_cast<void>(new std::vector<std::shared_ptr<Operation>>(std::move(operations_)));
}

void Engine::set_arena(std::shared_ptr<Arena> arena) {
  SHARDLINE_CHECK(operations_.empty(), "an engine with {} operations in flight is given an arena", operations_.size());
  SHARDLINE_CHECK(arena == nullptr || &arena->mesh() == &mesh_, "an engine is given the arena of another mesh");
  arena_ = std::move(arena);
}

bool Engine::poll() {
  bool moved = false;
  bool finished = false;
  for (const auto& operation : operations_) {
    moved = operation->advance() || moved;
    finished = finished || operation->done();
  }
  if (finished) std::erase_if(operations_, [](const auto& operation) { return operation->done(); });
  return moved;
}

Handle Engine::start(std::shared_ptr<Operation> operation) {
  operations_.push_back(operation);
  operation->advance();
  if (operation->done()) std::erase(operations_, operation);
  return {std::move(operation), this};
}

}  // namespace shardline::collectives
