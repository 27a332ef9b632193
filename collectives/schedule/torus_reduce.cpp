#include "collectives/schedule/torus_reduce.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "collectives/schedule/torus.h"

// all_gather, reduce_scatter and all_reduce by `ring` and `bidirectional`. Each position talks to its two neighbours
// only: position 1 has position 0 on its left and position 2 on its right, and the line is closed to a ring. A, B, C, D
// are the blocks of positions 0 to 3. A dot is a block that is not there yet.
//
// all_gather by `ring`. In each round a position sends to the right the block that it received last:
//
//               position 0    position 1    position 2    position 3
//     start     A . . .       . B . .       . . C .       . . . D
//     round 1   A . . D       A B . .       . B C .       . . C D
//     round 2   A . C D       A B . D       A B C .       . B C D
//     round 3   A B C D       A B C D       A B C D       A B C D
//
// all_gather by `bidirectional`, on position 0. One strand goes to the right and one to the left at the same time. The
// block half way round comes in two halves:
//
//     start     A . . .
//     round 1   A B . D       D from the left, B from the right
//     round 2   A B C D       the first half of C from the left, the second half from the right
//
// reduce_scatter by `ring`. a1 is block A in the operand of position 1. The sum of a block starts behind its owner, and
// each position that it reaches adds its own operand:
//
//               position 0          position 1          position 2          position 3
//     round 1   d0 to 1             a1 to 2             b2 to 3             c3 to 0
//     round 2   c3+c0 to 1          d0+d1 to 2          a1+a2 to 3          b2+b3 to 0
//     round 3   b2+b3+b0 to 1       c3+c0+c1 to 2       d0+d1+d2 to 3       a1+a2+a3 to 0
//     end       A = a1+a2+a3+a0     B = b2+b3+b0+b1     C = c3+c0+c1+c2     D = d0+d1+d2+d3
//
// reduce_scatter by `bidirectional`, the sum of A at its owner, position 0. a2' and a2" are the halves of a2:
//
//     round 1   2 sends a2' to 3 (right)                 2 sends a2" to 1 (left)
//     round 2   3 sends a2'+a3', a3" to 0 (right)        1 sends a1', a2"+a1" to 0 (left)
//     round 3   A = (sum from the left + a0) + sum from the right, a local addition
//
// all_reduce: a reduce_scatter, and then an all_gather of the sums. Over several axes a route takes the axes in turn:
// an all_gather first along the first line of the route, then with all blocks gathered so far along the next one. A
// reduce_scatter takes the lines in the opposite order.

namespace shardline::collectives {
namespace {

/// Blocks that travel together, one piece for each.
using Unit = std::vector<Piece>;

Index size_of_unit(const Unit& unit) {
  Index sum = 0;
  for (const Piece& piece : unit) sum += piece.size();
  return sum;
}

/// The places of as many elements in the work buffer, from `begin` on.
Unit in_work(const Unit& like, Index begin) {
  Unit unit;
  for (const Piece& piece : like) {
    unit.push_back({Buffer::work, {begin, begin + piece.size()}});
    begin += piece.size();
  }
  return unit;
}

/// One route of a gather or a reduction. `turn` counts the lines of the route.
class Traveller {
 public:
  Traveller(Schedule& schedule, const Placement& placement, const std::vector<Range>& chunks, const Route& route)
      : schedule_(schedule), placement_(placement), chunks_(chunks), route_(route), strands_(schedule) {}

  /// `own` is the own block: its buffer and its range there.
  void gather(const Piece& own);
  /// Leaves the own chunk's sum in `result`.
  void reduce(const Piece& result);

 private:
  /// Positions whose blocks travel together along line `turn` from its member `member`. They differ from it
  /// only on the lines before.
  std::vector<Index> together(std::size_t turn, Index member) const;
  Range part(Index position) const { return route_.part(chunks_[static_cast<std::size_t>(position)]); }
  void gather_along(std::size_t turn, const std::function<Piece(Index position)>& place);
  void reduce_along(std::size_t turn, const Piece& result);
  /// A round of sums on their way along a line.
  struct Hop {
    std::size_t turn = 0;
    Direction direction = Direction::right;
    Index remaining = 1;  ///< hops until the sums that are sent arrive, with this one
  };
  void send_sums(std::size_t turn, Direction direction, const Unit& into);
  std::vector<Send> sends(const Hop& hop, const Unit& operand, const Unit& sums) const;
  std::vector<Receive> receives(const Hop& hop, const Unit& operand, const Unit& into) const;
  /// The most elements that travel together along the line.
  Index largest_unit(std::size_t turn) const;
  Unit operands(std::size_t turn, Index member) const;
  Unit work(const Unit& like);

  Schedule& schedule_;
  const Placement& placement_;
  const std::vector<Range>& chunks_;
  const Route& route_;
  Strands strands_;
  std::vector<Piece> sums_;  ///< by position: the place of the sum of the finished lines; empty before the first line
};

std::vector<Index> Traveller::together(std::size_t turn, Index member) const {
  const Index position = route_.lines[turn].members[static_cast<std::size_t>(member)];
  return positions_along(route_, {0, static_cast<Index>(turn)}, placement_, position);
}

void Traveller::gather(const Piece& own) {
  const auto place = [&](Index position) {
    if (position != placement_.position) return Piece{Buffer::output, part(position)};
    const Range mine = route_.part(own.range);
    return Piece{own.buffer, mine};
  };
  for (std::size_t turn = 0; turn < route_.lines.size(); ++turn) {
    gather_along(turn, place);
    strands_.meet();
  }
}

void Traveller::gather_along(std::size_t turn, const std::function<Piece(Index position)>& place) {
  const Line& line = route_.lines[turn];
  for (const Direction direction : kDirections) {
    const Index hops = line.hops.in(direction);
    for (Index s = 1; s <= hops; ++s) {
      const auto pieces = [&](Index distance) {
        Unit unit;
        for (const Index position : together(turn, line.at(-sign(direction) * distance))) {
          Piece piece = place(position);
          if (line.hops.halved && s == hops) piece.range = half(piece.range, direction);
          unit.push_back(piece);
        }
        return unit;
      };
      Round round;
      for (const Piece& piece : pieces(s - 1)) round.sends.push_back({line.peer(direction, 1), piece});
      for (const Piece& piece : pieces(s)) round.receives.push_back({line.peer(direction, -1), piece});
      strands_.add(direction, std::move(round));
    }
  }
}

void Traveller::reduce(const Piece& result) {
  for (std::size_t turn = route_.lines.size(); turn-- > 0;) {
    reduce_along(turn, result);
    strands_.meet();
  }
}

Unit Traveller::operands(std::size_t turn, Index member) const {
  Unit unit;
  for (const Index position : together(turn, member)) {
    unit.push_back(sums_.empty() ? Piece{Buffer::input, part(position)} : sums_[static_cast<std::size_t>(position)]);
  }
  return unit;
}

Unit Traveller::work(const Unit& like) {
  const Index begin = schedule_.work_size;
  schedule_.work_size += size_of_unit(like);
  return in_work(like, begin);
}

void Traveller::reduce_along(std::size_t turn, const Piece& result) {
  const Line& line = route_.lines[turn];
  if (line.length() == 1) return;
  const Unit own = operands(turn, line.index);
  const bool last = turn == 0;
  Unit total;
  if (last) {
    total = {{result.buffer, route_.part(result.range)}};
  } else {
    total = work(own);
  }
  if (line.hops.left == 0) {
    send_sums(turn, Direction::right, total);
  } else {
    const Unit from_left = work(own);
    const Unit from_right = work(own);
    send_sums(turn, Direction::right, from_left);
    send_sums(turn, Direction::left, from_right);
    strands_.meet();
    Round join;
    for (std::size_t k = 0; k < total.size(); ++k)
      join.locals.push_back({total[k], {from_left[k], from_right[k]}, last});
    strands_.add(Direction::right, std::move(join));
  }
  sums_.resize(chunks_.size());
  const std::vector<Index> mine = together(turn, line.index);
  for (std::size_t k = 0; k < mine.size(); ++k) sums_[static_cast<std::size_t>(mine[k])] = total[k];
}

/// A part of a sum on its way: the range within its unit's piece. `begun`: the sender has received a part of
/// this sum. Otherwise the chain begins with the sender's operand.
struct Leg {
  Range within;
  bool begun = false;
};

/// The parts of a piece of `size` elements whose sum has `remaining` hops to go. The half for the other
/// direction begins one hop later.
std::vector<Leg> legs(Index size, const Hops& hops, Index remaining, Direction direction) {
  const Range all{0, size};
  const Index longest = hops.in(direction);
  if (!hops.halved || remaining < longest - 1) return {{all, remaining < longest}};
  if (remaining == longest) return {{half(all, direction), false}};
  const auto [first, second] = halves(all);
  return {{first, direction == Direction::right}, {second, direction == Direction::left}};
}

Piece inside(const Piece& piece, Range within) {
  return {piece.buffer, {piece.range.begin + within.begin, piece.range.begin + within.end}};
}

void Traveller::send_sums(std::size_t turn, Direction direction, const Unit& into) {
  const Line& line = route_.lines[turn];
  const Index hops = line.hops.in(direction);
  const Index largest = largest_unit(turn);
  // A round receives into one of two places while it sends from the other.
  const Index transit = schedule_.work_size;
  if (hops > 1) schedule_.work_size += 2 * largest;
  const auto under_way = [&](const Unit& operand, Index s) { return in_work(operand, transit + s % 2 * largest); };
  for (Index s = 1; s <= hops; ++s) {
    const Hop hop{turn, direction, hops - s + 1};
    const Unit sent = operands(turn, line.at(sign(direction) * hop.remaining));
    const Unit added = operands(turn, line.at(sign(direction) * (hop.remaining - 1)));
    Round round;
    round.sends = sends(hop, sent, under_way(sent, s - 1));
    round.receives = receives(hop, added, hop.remaining == 1 ? into : under_way(added, s));
    strands_.add(direction, std::move(round));
  }
}

Index Traveller::largest_unit(std::size_t turn) const {
  Index largest = 0;
  for (Index m = 0; m < route_.lines[turn].length(); ++m) largest = std::max(largest, size_of_unit(operands(turn, m)));
  return largest;
}

/// `sums` are those received in the round before. A chain that begins here sends the operand.
std::vector<Send> Traveller::sends(const Hop& hop, const Unit& operand, const Unit& sums) const {
  const Line& line = route_.lines[hop.turn];
  std::vector<Send> all;
  for (std::size_t k = 0; k < operand.size(); ++k) {
    for (const Leg& leg : legs(operand[k].size(), line.hops, hop.remaining, hop.direction)) {
      all.push_back({line.peer(hop.direction, 1), inside(leg.begun ? sums[k] : operand[k], leg.within), true});
    }
  }
  return all;
}

/// The sum of what arrives and of `operand` goes to `into`.
std::vector<Receive> Traveller::receives(const Hop& hop, const Unit& operand, const Unit& into) const {
  const Line& line = route_.lines[hop.turn];
  const bool arrives = hop.remaining == 1;
  // The owner adds its operand once, to the sum from the left.
  const OnArrival on_arrival = arrives && hop.direction == Direction::left ? OnArrival::copy : OnArrival::reduce;
  std::vector<Receive> all;
  for (std::size_t k = 0; k < operand.size(); ++k) {
    for (const Leg& leg : legs(operand[k].size(), line.hops, hop.remaining, hop.direction)) {
      Receive receive{line.peer(hop.direction, -1), inside(into[k], leg.within), on_arrival};
      if (on_arrival == OnArrival::reduce) receive.operand = inside(operand[k], leg.within);
      receive.partial = true;
      receive.last = arrives && line.hops.left == 0 && hop.turn == 0;
      all.push_back(receive);
    }
  }
  return all;
}

}  // namespace

Schedule torus_all_gather(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks) {
  Schedule schedule;
  schedule.by_link = true;
  const Range own{0, chunks[static_cast<std::size_t>(placement.position)].size()};
  for (const Route& route : gather_routes(algorithm, placement)) {
    Traveller(schedule, placement, chunks, route).gather({Buffer::input, own});
  }
  return schedule;
}

Schedule torus_reduce_scatter(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks) {
  Schedule schedule;
  schedule.by_link = true;
  const Range own{0, chunks[static_cast<std::size_t>(placement.position)].size()};
  for (const Route& route : gather_routes(algorithm, placement)) {
    Traveller(schedule, placement, chunks, route).reduce({Buffer::output, own});
  }
  return schedule;
}

Schedule torus_all_reduce(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks) {
  Schedule schedule;
  schedule.by_link = true;
  const Piece own{Buffer::output, chunks[static_cast<std::size_t>(placement.position)]};
  for (const Route& route : gather_routes(algorithm, placement)) {
    Traveller traveller(schedule, placement, chunks, route);
    traveller.reduce(own);
    traveller.gather(own);
  }
  return schedule;
}

}  // namespace shardline::collectives
