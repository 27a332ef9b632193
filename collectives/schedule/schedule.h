#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/schedule/options.h"
#include "runtime/base/shape.h"

namespace shardline::collectives {

/// The memory that a schedule reads and writes: the operand (never written), the result, and scratch of
/// Schedule::work_size elements. Operand and result may be the same memory only where a schedule says so.
enum class Buffer : std::uint8_t { input, output, work };

/// Elements [range.begin, range.end) of a buffer.
struct Piece {
  Buffer buffer = Buffer::input;
  Range range;
  Index size() const { return range.size(); }
  bool operator==(const Piece&) const = default;
};

/// A transfer to another position. `partial`: the elements are operands, or sums that are not complete. With the wire
/// f32, partial sums of bf16 travel as f32, and Buffer::work holds f32. Sender and receiver set the same `partial`.
struct Send {
  Index peer = 0;  ///< position in the group
  Piece from;
  bool partial = false;
};

/// What a receiver does with the elements that arrive. `copy` stores them in `into`. `reduce` stores
/// (received op operand) in `into`, element by element, or (operand op received) when `operand_first`. `operand` has
/// the size of `into`. It is the same piece or does not overlap it.
enum class OnArrival : std::uint8_t { copy, reduce };

struct Receive {
  Index peer = 0;
  Piece into;
  OnArrival on_arrival = OnArrival::copy;
  Piece operand{};
  bool partial = false;
  bool operand_first = false;
  bool last = false;  ///< the reduction of these elements is complete: an average is divided here
};

/// into = (from[0] op from[1]) op ..., or a copy of a single piece. `last` as in Receive.
struct Local {
  Piece into;
  std::vector<Piece> from;
  bool last = false;
};

/// A round with this need waits until strand `strand` has finished `rounds` rounds.
struct Need {
  Index strand = 0;
  Index rounds = 0;
};

/// Local work, one piece after the other, and then transfers that run at the same time. The transfers between two
/// positions keep the order that they have here. Within a round no element that is received into is also sent, or
/// received into twice.
struct Round {
  std::vector<Send> sends{};
  std::vector<Receive> receives{};
  std::vector<Local> locals{};
  std::vector<Need> needs{};
};

/// Rounds one after the other. A position waits only for messages, never for a round of another position to end.
using Strand = std::vector<Round>;

/// The work of one position of a group in a collective: strands that run side by side, each with its own
/// messages. Pure data. For two positions, the sends of a strand on one and the receives of the same strand on
/// the other are equal in number, order and size. A transfer of no elements is part of the schedule and costs
/// no message.
struct Schedule {
  std::vector<Strand> strands;
  Index work_size = 0;  ///< elements of Buffer::work
  /// True: the peers are neighbours on a ring or torus, with one link to each. The busiest direction is the busiest of
  /// these links. Even strands send to the right, odd strands to the left. False: all messages leave by one link.
  bool by_link = false;
};

/// The most strands that a schedule has, and the number of tags that each run takes.
inline constexpr int kMostStrands = 8;

/// The place of one rank in the group of a collective: the sizes of the group's axes, major first, and its row-major
/// position.
struct Placement {
  std::vector<Index> axis_sizes;
  Index position = 0;

  Index positions() const;
  /// Coordinates of any position.
  std::vector<Index> coordinates(Index of) const;
  Index position_at(const std::vector<Index>& coordinates) const;
};

/// The blocks of an all_to_all.
struct Exchange {
  std::vector<Range> sends;     ///< in the input, by position of the receiver
  std::vector<Range> receives;  ///< in the output, by position of the sender
  /// Elements that position `from` has for position `to`. Only algorithms that forward blocks call it.
  std::function<Index(Index from, Index to)> size;
};

/// A group of one axis.
inline Placement on_one_axis(Index positions, Index position) { return {{positions}, position}; }

/// Bytes of an element on the wire. They differ for partial transfers when bf16 is reduced over the wire f32.
struct ElementSizes {
  Index whole = 0;
  Index partial = 0;
};
inline ElementSizes element_sizes(DType dtype, Wire wire) {
  return {size_of(dtype), wire == Wire::f32 ? size_of(DType::f32) : size_of(dtype)};
}

/// Bytes to the peer that gets most (Schedule::by_link), or else to all peers together.
Index busiest_direction(const Schedule& schedule, const ElementSizes& sizes);

/// Rounds that move elements, on the strand with most of them.
Index round_count(const Schedule& schedule);

/// The position `offset` places further round a ring of `positions`. `offset` may be negative or larger than the ring.
Index ring_position(Index position, Index offset, Index positions);

/// Throws UsageError: `kind` does not have this algorithm.
[[noreturn]] void no_schedule(Algorithm algorithm, Kind kind);

}  // namespace shardline::collectives
