#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/run/collective_run.h"
#include "collectives/run/scratch.h"
#include "collectives/schedule/tuning.h"
#include "runtime/base/units.h"
#include "runtime/mesh/mesh.h"

namespace shardline {
class Recording;
}

namespace shardline::collectives {

class Arena;
class Engine;

/// A collective that was started. wait() must be called before the handle goes, unless done() has been true.
class Handle {
 public:
  Handle(Handle&& other) noexcept = default;
  /// The handle assigned to must be empty, moved from or waited for, as if it were dropped.
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  /// A handle without wait() is a fault of the program. The destructor reports it on standard error, and aborts in a
  /// debug build. In a release build the run stays with its engine. No report while an exception unwinds.
  ~Handle();

  /// True once the result is there and all buffers are free. Otherwise advances all runs once.
  bool done();
  /// Returns once done() is true. Until then it polls every engine of the process. It yields the core after a number of
  /// polls that moved nothing, or after each such poll if the node has more ranks than cores. Throws Error that names
  /// the collective, its axes, tag and missing peers when nothing has moved for Engine::timeout(). Throws at once when
  /// the run is fed and part of its input was not supplied.
  void wait();
  /// Polls every engine as wait() does until `ready` returns true; it is called after each poll. Throws Error as wait()
  /// does when nothing has moved for Engine::timeout().
  void wait_until(const std::function<bool()>& ready);

  /// For a fed run: these elements of the input, counted over the flat tensor, are final and do not change until the
  /// run is done. Never waits; nothing is sent before the next poll. Throws Error when the run was not started as fed
  /// or has no such elements.
  void supply(Range elements) { run_->supply(elements); }
  /// True when these elements of the output, counted over the flat tensor, are final. True only at the end where the
  /// output is packed (a dim that is not outermost) and for `direct` and `native`. Does not advance anything.
  bool arrived(Range elements) const { return run_->arrived(elements); }
  /// The input in the order in which the run first needs its elements. Every needed element occurs once.
  std::vector<Range> reading_order() const { return run_->reading_order(); }
  /// The output in the order in which arrived() becomes true if all ranks are equally fast; empty if it is not known.
  std::vector<Range> arrival_order() const { return run_->arrival_order(); }
  /// When it was started, by now().
  Seconds started() const { return run_->started(); }
  /// When the poll that saw the end did so; once done() has been true.
  Seconds ended() const { return run_->ended(); }
  /// The algorithm, which `automatic` was resolved to.
  Algorithm algorithm() const { return run_->job().algorithm; }
  /// The wire over which bf16 was reduced; `automatic` when no bf16 was reduced.
  Wire wire() const { return run_->job().wire; }
  /// See CollectiveRun::wire_bytes().
  Index wire_bytes() const { return run_->wire_bytes(); }
  /// Bytes of packed buffers that were filled or emptied; 0 when the arrays were used in place.
  Index packed_bytes() const { return run_->job().packed_bytes; }

 private:
  friend class Engine;
  Handle(std::shared_ptr<CollectiveRun> run, const Engine* engine) : run_(std::move(run)), engine_(engine) {}
  void report_dropped() const;

  std::shared_ptr<CollectiveRun> run_;
  const Engine* engine_;  ///< must be alive while the run is in flight
  bool settled_ = false;  ///< done() or wait() has told the owner
};

/// The progress engine of one mesh: owns the collectives in flight. MPI moves little while a rank computes, so poll()
/// between pieces of work. Not thread-safe. The mesh must outlive it.
class Engine {
 public:
  explicit Engine(const Mesh& mesh);
  /// Destroy it when nothing is in flight; otherwise it says so on standard error and keeps the buffers for ever.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Advances every run in flight without waiting. True when anything moved.
  bool poll();
  const Mesh& mesh() const { return mesh_; }
  Index in_flight() const { return static_cast<Index>(runs_.size()); }

  /// wait() fails when nothing has moved for this time; 300 s unless set.
  Seconds timeout() const { return timeout_; }
  void set_timeout(Seconds timeout) { timeout_ = timeout; }

  /// The rules by which `automatic` chooses; built-in unless set. Equal on all ranks.
  const Tuning& tuning() const { return tuning_; }
  void set_tuning(Tuning tuning) { tuning_ = std::move(tuning); }

  /// For collectives: takes `run` into flight and advances it once.
  Handle start(std::shared_ptr<CollectiveRun> run);
  ScratchPool& scratch() { return scratch_; }
  /// The shared memory for `direct`; null unless set. One arena may serve several engines of its mesh. Set it on every
  /// rank alike, while nothing is in flight.
  const std::shared_ptr<Arena>& arena() const { return arena_; }
  void set_arena(std::shared_ptr<Arena> arena);
  /// The recording in which runs note their messages; null unless set. It must outlive the runs in flight.
  Recording* recording() const { return recording_; }
  void set_recording(Recording* recording) { recording_ = recording; }

 private:
  const Mesh& mesh_;
  std::shared_ptr<Arena> arena_;
  ScratchPool scratch_;
  std::vector<std::shared_ptr<CollectiveRun>> runs_;  ///< in the order in which they were started
  Seconds timeout_{300};
  Tuning tuning_ = Tuning::built_in();
  Recording* recording_ = nullptr;
};

}  // namespace shardline::collectives
