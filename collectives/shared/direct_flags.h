#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "collectives/run/collective_run.h"
#include "collectives/schedule/options.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/shape.h"

// How the ranks of a `direct` run wait for each other without messages. For each set of axes every rank has a ring of
// slots in its part of the arena. The runs over a set of axes are counted, and run s uses slot s mod kSlots of every
// rank of its group. In its own slot a rank announces three things: it has started run s and its arrays lie there; it
// has combined its chunk (all_reduce only); it has finished reading from the others. Each is a number that only grows.
// The owner writes it and the others read it, so there are no locks and no resets. A run is complete when all readers
// of this rank have finished. Only then may this rank announce run s + kSlots in the slot.
namespace shardline::collectives {

class Arena;

namespace direct {

/// The most runs over one set of axes at a time; further runs wait.
inline constexpr Index kSlots = 32;

/// The announcement of a rank to its group when it starts a run.
struct Call {
  Kind kind = Kind::all_gather;
  ReduceOp op = ReduceOp::sum;
  DType dtype = DType::f32;
  std::int32_t position = 0;
  Index elements = 0;        ///< of the logical array; for shift: that the rank gives
  std::uint64_t layout = 0;  ///< hash of shape and dims, which must be equal too
  Index wanted = 0;          ///< shift only: elements that the rank takes
  Index input = 0;           ///< byte offset of the operand in the rank's part
  Index output = 0;          ///< of the result
};

/// Flags of one run on one rank: one cache line for the start, and one for the later flags.
struct Slot {
  alignas(64) std::atomic<std::uint64_t> started{0};
  Call call;
  alignas(64) std::atomic<std::uint64_t> combined{0};
  std::atomic<std::uint64_t> finished{0};
};
static_assert(sizeof(Slot) == 128 && std::atomic<std::uint64_t>::is_always_lock_free);

/// A rank's count of runs over one set of axes.
struct Sequence {
  std::uint64_t last = 0;                         ///< the run that was started last
  std::array<std::uint64_t, kSlots> completed{};  ///< by slot: the run that was completed last
};

/// Mixes another value into a hash. Ranks must agree on the hash.
std::uint64_t mix(std::uint64_t hash, Index value);
std::uint64_t mix(std::uint64_t hash, const Shape& shape);

/// The part of one run in the exchange of flags. Never waits.
class Meeting {
 public:
  /// Collective over the job's axes: takes the next number of their sequence. `job` must outlive the meeting.
  /// Input and output lie in `arena`, or anywhere if no other rank reads them.
  Meeting(Arena& arena, const Job& job, Call call);

  /// Announces the call if the slot is free. True if it is announced now.
  bool start();
  /// True if `position` has started. Throws Error that names both calls if it called something else.
  bool started(Index position) const;
  void say_combined();
  bool combined(Index position) const;
  void say_finished();
  bool finished(Index position) const;
  /// Frees the own slot. All ranks that read from this rank must have finished.
  void leave();

  /// The arrays of a position that has started.
  const std::byte* input(Index position) const;
  const std::byte* output(Index position) const;

 private:
  Slot& slot(Index position) const;
  std::byte* part(Index position) const;
  void check_agreement(Index position, const Call& other) const;

  Arena& arena_;
  const Job& job_;
  Call call_;
  Index set_;
  std::uint64_t sequence_;
};

}  // namespace direct
}  // namespace shardline::collectives
