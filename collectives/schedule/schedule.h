#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/schedule/options.h"
#include "runtime/base/shape.h"

namespace shardline::collectives {

/// The memory a schedule moves elements between: the operand (never written), the result, and scratch of
/// Schedule::work_size elements. Operand and result may be the same memory only where a schedule says so.
enum class Buffer : std::uint8_t { input, output, work };

/// Elements [range.begin, range.end) of a buffer.
struct Piece {
  Buffer buffer = Buffer::input;
  Range range;
  Index size() const { return range.size(); }
  bool operator==(const Piece&) const = default;
};

/// A transfer to another position. `partial`: the elements are operands or sums that are not complete. When bf16 is
/// reduced over the wire f32, such elements travel as f32, and Buffer::work holds f32. Both ends of a transfer say the
/// same of it.
struct Send {
  Index peer = 0;  ///< position in the group
  Piece from;
  bool partial = false;
};

/// What becomes of received elements: `copy` stores them in `into`; `reduce` stores (received op operand) there,
/// element by element, or (operand op received) when `operand_first`. `operand` has the size of `into` and is either
/// the same piece or apart from it.
enum class Action : std::uint8_t { copy, reduce };

struct Receive {
  Index peer = 0;
  Piece into;
  Action action = Action::copy;
  Piece operand{};
  bool partial = false;
  bool operand_first = false;
  bool last = false;  ///< the reduction of these elements is complete: an average is divided here
};

/// into = (from[0] op from[1]) op ..., a copy when there is one piece. `last` as in Receive.
struct Local {
  Piece into;
  std::vector<Piece> from;
  bool last = false;
};

/// A step waits until strand `strand` has finished `steps` steps.
struct Need {
  Index strand = 0;
  Index steps = 0;
};

/// Local work, one after the other, and then transfers that run at the same time. The transfers between two positions
/// keep the order in which they stand here. Within a step nothing that is received into is also sent from, or received
/// into twice.
struct Step {
  std::vector<Send> sends{};
  std::vector<Receive> receives{};
  std::vector<Local> locals{};
  std::vector<Need> needs{};
};

/// Steps one after the other. No position waits for the steps of others, only for their messages.
using Strand = std::vector<Step>;

/// What one position of a group does in a collective: strands that run side by side, each with messages of its own.
/// Pure data. Between two positions the sends of a strand and the receives of the other's same strand are equal in
/// number, order and size; transfers of no elements are part of a schedule and cost no message.
struct Schedule {
  std::vector<Strand> strands;
  Index work_size = 0;  ///< elements of Buffer::work
  /// The peers are neighbours on a ring or torus, a link to each: the busiest direction is the busiest of them, and
  /// even strands send to the right, odd ones to the left. Otherwise everything leaves by one way.
  bool by_link = false;
};

/// The most strands a schedule has: so many tags an operation draws.
inline constexpr int kMostStrands = 8;

/// Where one rank stands in the group of a collective: the sizes of the group's axes, major first, and its position,
/// which is row-major.
struct Placement {
  std::vector<Index> axis_sizes;
  Index position = 0;

  Index positions() const;
  /// Coordinates of any position.
  std::vector<Index> coordinates(Index of) const;
  Index position_at(const std::vector<Index>& coordinates) const;
};

/// What an all_to_all moves.
struct Exchange {
  std::vector<Range> sends;     ///< in the input, by position of the receiver
  std::vector<Range> receives;  ///< in the output, by position of the sender
  /// Elements that any position has for any other; only the algorithms that forward blocks ask.
  std::function<Index(Index from, Index to)> size;
};

/// A group of one axis.
inline Placement on_one_axis(Index positions, Index position) { return {{positions}, position}; }

/// Bytes of an element on the wire: those of a partial transfer differ where bf16 is reduced over the wire f32.
struct ElementSizes {
  Index whole = 0;
  Index partial = 0;
};
inline ElementSizes element_sizes(DType dtype, Wire wire) {
  return {size_of(dtype), wire == Wire::f32 ? size_of(DType::f32) : size_of(dtype)};
}

/// Bytes sent to the peer that is sent most, or to all together, as Schedule::by_link says.
Index busiest_direction(const Schedule& schedule, const ElementSizes& sizes);

/// The longest strand.
Index step_count(const Schedule& schedule);

/// Position `offset` steps further round a ring of `positions`; `offset` may be negative or larger than the ring.
Index ring_position(Index position, Index offset, Index positions);

/// Throws UsageError: the algorithm is none that `kind` has.
[[noreturn]] void no_schedule(Algorithm algorithm, Kind kind);

}  // namespace shardline::collectives
