#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "collectives/run/operation.h"
#include "collectives/schedule/options.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/shape.h"

// How direct operations keep step, without messages. Every rank has, in its part of the arena, a ring of slots for each
// set of axes, and the operations over a set are counted; operation s uses slot s mod kSlots of every rank of its
// group. A rank announces in its own slot that it has started s and where its arrays lie, then that it has combined its
// chunk (all_reduce only), then that it has finished reading from the others. Each of these is a number that only
// grows, written by the owner and read by the others, so there is nothing to lock and nothing to reset. An operation is
// complete when all who read from this rank have finished, and only then may this rank announce operation s + kSlots in
// the slot; until then that one waits.
namespace shardline::collectives {

class Arena;

namespace direct {

/// Operations of one set of axes that may be under way at a time; further ones wait.
inline constexpr Index kSlots = 32;

/// What a rank tells the others of its group when it starts an operation.
struct Call {
  Kind kind = Kind::all_gather;
  ReduceOp op = ReduceOp::sum;
  DType dtype = DType::f32;
  std::int32_t position = 0;
  Index elements = 0;        ///< of the logical array; for shift, those that the rank gives
  std::uint64_t layout = 0;  ///< of everything else that must be equal: shape and dims
  Index wanted = 0;          ///< shift only: elements that the rank takes
  Index input = 0;           ///< byte offset of the operand in the rank's part
  Index output = 0;          ///< of the result
};

/// Flags of one operation on one rank; a line for what the start tells and one for what follows.
struct Slot {
  alignas(64) std::atomic<std::uint64_t> started{0};
  Call call;
  alignas(64) std::atomic<std::uint64_t> combined{0};
  std::atomic<std::uint64_t> finished{0};
};
static_assert(sizeof(Slot) == 128 && std::atomic<std::uint64_t>::is_always_lock_free);

/// A rank's count of operations over one set of axes.
struct Sequence {
  std::uint64_t last = 0;                         ///< operation that was started last
  std::array<std::uint64_t, kSlots> completed{};  ///< by slot: the operation that was completed last
};

/// Mixes another value into a hash of what ranks must agree on.
std::uint64_t mix(std::uint64_t hash, Index value);
std::uint64_t mix(std::uint64_t hash, const Shape& shape);

/// One operation's part in the exchange of flags. Never waits.
class Meeting {
 public:
  /// Collective over the job's axes: takes the next number of their sequence. `job` must outlive the meeting; its input
  /// and output lie in `arena` or, where no other rank reads them, anywhere.
  Meeting(Arena& arena, const Job& job, Call call);

  /// Announces the call once the slot is free. True when it has been announced.
  bool start();
  /// Whether `position` has started. Throws Error that names both calls when it has called something else.
  bool started(Index position) const;
  void say_combined();
  bool combined(Index position) const;
  void say_finished();
  bool finished(Index position) const;
  /// Frees the own slot: everyone who reads from this rank has finished.
  void leave();

  /// Where the arrays of a position that has started lie.
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
