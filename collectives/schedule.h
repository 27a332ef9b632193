#pragma once

#include <cstdint>
#include <vector>

#include "collectives/options.h"
#include "runtime/base/shape.h"

namespace shardline::collectives {

/// The memory a schedule moves elements between: the operand (never written), the result, and scratch of
/// Schedule::work_size elements.
enum class Buffer : std::uint8_t { input, output, work };

/// Elements [range.begin, range.end) of a buffer.
struct Piece {
  Buffer buffer = Buffer::input;
  Range range;
  Index size() const { return range.size(); }
  bool operator==(const Piece&) const = default;
};

struct Send {
  Index peer = 0;  ///< position in the group
  Piece from;
};

/// What becomes of received elements: `copy` stores them in `into`; `reduce` stores (received op operand) there,
/// element by element and in that order. `operand` has the size of `into` and is either the same piece or apart from
/// it.
enum class Action : std::uint8_t { copy, reduce };

struct Receive {
  Index peer = 0;
  Piece into;
  Action action = Action::copy;
  Piece operand;
};

/// Transfers that run at the same time: at most one to and one from each peer (their segments could not be told apart
/// otherwise). Within a step nothing that is received into is also sent from, or received into twice.
struct Step {
  std::vector<Send> sends;
  std::vector<Receive> receives;
};

/// What one position of a group does in a collective: its steps one after the other (no position waits for the steps of
/// others, only for their messages). Pure data. Between two positions the sends of the one and the receives of the
/// other are equal in number, order and size; transfers of no elements are part of a schedule and cost no message.
struct Schedule {
  std::vector<Step> steps;
  Index work_size = 0;  ///< elements of Buffer::work

  /// Appends `step` unless all its transfers are empty.
  void add(Step step);
};

/// Elements that leave the position that runs `schedule`.
Index elements_sent(const Schedule& schedule);

/// Position `offset` steps further round a ring of `positions`; `offset` may be negative or larger than the ring.
Index ring_position(Index position, Index offset, Index positions);

/// Throws Error: the algorithm has no schedule of ours for this collective.
[[noreturn]] void no_schedule(Algorithm algorithm, const char* collective);

}  // namespace shardline::collectives
