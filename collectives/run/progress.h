#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/run/collective_run.h"
#include "collectives/run/scratch.h"
#include "collectives/run/send_budget.h"
#include "collectives/schedule/tuning.h"
#include "runtime/base/units.h"
#include "runtime/mesh/mesh.h"

namespace shardline {
class Recording;
}

namespace shardline::collectives {

class Arena;
class Engine;

/// A started collective. Call wait() before the handle is destroyed, unless done() was true.
class Handle {
 public:
  Handle(Handle&& other) noexcept = default;
  /// The target must be empty, moved from or waited for. Otherwise the rules of the destructor hold.
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  /// A handle without wait() is a fault of the program. The destructor reports it on standard error, and aborts in a
  /// debug build. In a release build the run stays with its engine. No report while an exception unwinds.
  ~Handle();

  /// True if the result is ready and all buffers are free. Otherwise advances all runs once.
  bool done();
  /// Returns once done() is true. Until then it polls every engine of the process. It yields the core after a number of
  /// polls that moved nothing, or after each such poll if the node has more ranks than cores. Throws Error that names
  /// the collective, its axes, tag and missing peers when nothing has moved for Engine::timeout(). Throws at once when
  /// the run is fed and part of its input was not supplied.
  void wait();
  /// Polls every engine as wait() does, and calls `ready` after each poll, until it returns true. Throws Error
  /// as wait() does if nothing has moved for Engine::timeout().
  void wait_until(const std::function<bool()>& ready);

  /// For a fed run: these elements of the input, counted over the flat tensor, are final and do not change
  /// until the run is done. Never waits. Nothing is sent before the next poll. Throws Error if the run is not
  /// fed or does not have these elements.
  void supply(Range elements) { run_->supply(elements); }
  /// True if these elements of the output, counted over the flat tensor, are final. If the output is packed (a
  /// dim that is not outermost), and for `direct` and `native`, it is true only at the end. Does not advance
  /// anything.
  bool arrived(Range elements) const { return run_->arrived(elements); }
  /// The input in the order in which the run first needs its elements. Every needed element occurs once.
  std::vector<Range> reading_order() const { return run_->reading_order(); }
  /// The output in the order in which arrived() becomes true if all ranks are equally fast; empty if not known.
  std::vector<Range> arrival_order() const { return run_->arrival_order(); }
  /// The time of the start, by now().
  Seconds started() const { return run_->started(); }
  /// The time of the poll that saw the end; valid after done() was true.
  Seconds ended() const { return run_->ended(); }
  /// The resolved algorithm, never `automatic`.
  Algorithm algorithm() const { return run_->job().algorithm; }
  /// The wire of a reduction of bf16; `automatic` for all other collectives.
  Wire wire() const { return run_->job().wire; }
  /// See CollectiveRun::wire_bytes().
  Index wire_bytes() const { return run_->wire_bytes(); }
  /// Bytes of packed buffers that were filled or emptied; 0 if the arrays were used in place.
  Index packed_bytes() const { return run_->job().packed_bytes; }

 private:
  friend class Engine;
  Handle(std::shared_ptr<CollectiveRun> run, const Engine* engine) : run_(std::move(run)), engine_(engine) {}
  void report_dropped() const;

  std::shared_ptr<CollectiveRun> run_;
  const Engine* engine_;  ///< must be alive while the run is in flight
  bool settled_ = false;  ///< done() or wait() has told the owner
};

/// Advances every run in flight of every engine of the process, without waiting. True if anything moved.
bool poll_all();

/// The progress engine of one mesh: owns the collectives in flight. MPI moves little while a rank computes, so
/// call poll() between pieces of work. Not thread-safe. The mesh must outlive it.
class Engine {
 public:
  explicit Engine(const Mesh& mesh);
  /// Destroy it when nothing is in flight. Otherwise it reports this on standard error and never frees the
  /// buffers.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Advances every run in flight without waiting. True if anything moved.
  bool poll();
  const Mesh& mesh() const { return mesh_; }
  Index in_flight() const { return static_cast<Index>(runs_.size()); }

  /// wait() fails if nothing has moved for this time. The default is 300 s.
  Seconds timeout() const { return timeout_; }
  void set_timeout(Seconds timeout) { timeout_ = timeout; }

  /// The rules of `automatic`. The default is built in. Equal on all ranks.
  const Tuning& tuning() const { return tuning_; }
  void set_tuning(Tuning tuning) { tuning_ = std::move(tuning); }

  /// For runs: the bytes under way over the axes of a job.
  SendBudget& sends(const Job& job) { return sends_[job.group]; }
  /// For runs: true if a run with this job may hand another send to MPI. See SendBudget.
  bool may_send(const Job& job);

  /// For collectives: adds `run` to the runs in flight and advances it once.
  Handle start(std::shared_ptr<CollectiveRun> run);
  ScratchPool& scratch() { return scratch_; }
  /// The shared memory for `direct`; null by default. One arena may serve several engines of its mesh. Set it
  /// on every rank while nothing is in flight.
  const std::shared_ptr<Arena>& arena() const { return arena_; }
  void set_arena(std::shared_ptr<Arena> arena);
  /// The recording for the messages of runs; null by default. It must outlive the runs in flight.
  Recording* recording() const { return recording_; }
  void set_recording(Recording* recording) { recording_ = recording; }

 private:
  const Mesh& mesh_;
  std::shared_ptr<Arena> arena_;
  ScratchPool scratch_;
  std::map<const Group*, SendBudget> sends_;          ///< by the ranks that take part
  std::vector<std::shared_ptr<CollectiveRun>> runs_;  ///< in the order in which they were started
  Seconds timeout_{300};
  Tuning tuning_ = Tuning::built_in();
  Recording* recording_ = nullptr;
};

}  // namespace shardline::collectives
