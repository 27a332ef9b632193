#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/run/operation.h"
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
  /// A handle that was not waited for is a fault of the program: says so on standard error, and aborts in a debug
  /// build. In a release build the operation stays with its engine. Silent while an exception unwinds.
  ~Handle();

  /// True once the result is there and all buffers are free. Advances all operations once when it is not.
  bool done();
  /// Returns once done() is true. Advances the operations of every engine of the process meanwhile, and gives the core
  /// away after a number of fruitless rounds, or after each where the node has more ranks than cores. Throws Error that
  /// names the operation, its axes, tag and missing peers when nothing has moved for Engine::timeout(), and at once
  /// when the operation is fed and not all of its input was supplied.
  void wait();
  /// Serves the operations of every engine as wait() does until `ready` holds, which is asked after each round. Throws
  /// Error as wait() does when nothing has moved for Engine::timeout().
  void wait_until(const std::function<bool()>& ready);

  /// Of a fed operation: these elements of the input, counted over the flat tensor, are there and will not change until
  /// the operation is done. Never waits; nothing is sent before the next poll. Throws Error when the operation was not
  /// started as fed or has no such elements.
  void supply(Range elements) { operation_->supply(elements); }
  /// True when these elements of the output, counted over the flat tensor, are there for good. Where the output is
  /// packed (a dim that is not outermost) and for `direct` and `native`, which cannot tell, only once all are. Does not
  /// advance anything.
  bool arrived(Range elements) const { return operation_->arrived(elements); }
  /// The input in the order in which the operation first needs its elements, every element that it needs once.
  std::vector<Range> reading_order() const { return operation_->reading_order(); }
  /// The output in the order in which arrived() becomes true if all ranks go at the same pace; empty where it cannot
  /// tell.
  std::vector<Range> arrival_order() const { return operation_->arrival_order(); }
  /// When it was started, by now().
  Seconds started() const { return operation_->started(); }
  /// When the poll that saw the end did so; once done() has been true.
  Seconds ended() const { return operation_->ended(); }
  /// Who carries it out: what `automatic` was resolved to.
  Algorithm algorithm() const { return operation_->job().algorithm; }
  /// That bf16 was reduced over; `automatic` when none was.
  Wire wire() const { return operation_->job().wire; }
  /// See Operation::wire_bytes().
  Index wire_bytes() const { return operation_->wire_bytes(); }
  /// Bytes of packed buffers that were filled or emptied; 0 when the arrays were used in place.
  Index packed_bytes() const { return operation_->job().packed_bytes; }

 private:
  friend class Engine;
  Handle(std::shared_ptr<Operation> operation, const Engine* engine)
      : operation_(std::move(operation)), engine_(engine) {}
  void report_dropped() const;

  std::shared_ptr<Operation> operation_;
  const Engine* engine_;  ///< asked for its timeout while the operation is in flight, when it must be alive
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

  /// Advances every operation in flight without waiting. True when anything moved.
  bool poll();
  const Mesh& mesh() const { return mesh_; }
  Index in_flight() const { return static_cast<Index>(operations_.size()); }

  /// How long wait() suffers that nothing moves; 300 s unless set.
  Seconds timeout() const { return timeout_; }
  void set_timeout(Seconds timeout) { timeout_ = timeout; }

  /// By which `automatic` chooses; built-in unless set. Equal on all ranks.
  const Tuning& tuning() const { return tuning_; }
  void set_tuning(Tuning tuning) { tuning_ = std::move(tuning); }

  /// For collectives: takes `operation` into flight and gives it its first push.
  Handle start(std::shared_ptr<Operation> operation);
  ScratchPool& scratch() { return scratch_; }
  /// What `direct` works in; null unless set. One arena may serve several engines of its mesh. Set it while nothing is
  /// in flight, and alike on every rank.
  const std::shared_ptr<Arena>& arena() const { return arena_; }
  void set_arena(std::shared_ptr<Arena> arena);
  /// Where operations that send messages note them, for as long as any is in flight; null unless set.
  Recording* recording() const { return recording_; }
  void set_recording(Recording* recording) { recording_ = recording; }

 private:
  const Mesh& mesh_;
  std::shared_ptr<Arena> arena_;
  ScratchPool scratch_;
  std::vector<std::shared_ptr<Operation>> operations_;  ///< in the order in which they were started
  Seconds timeout_{300};
  Tuning tuning_ = Tuning::built_in();
  Recording* recording_ = nullptr;
};

}  // namespace shardline::collectives
