#include "collectives/schedule/torus_reduce.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "collectives/schedule/torus.h"

namespace shardline::collectives {
namespace {

/// The blocks that travel together: one piece each.
using Unit = std::vector<Piece>;

Index size_of_unit(const Unit& unit) {
  Index sum = 0;
  for (const Piece& piece : unit) sum += piece.size();
  return sum;
}

/// One route of a gather or a reduction.
class Traveller {
 public:
  Traveller(Schedule& schedule, const Placement& placement, const std::vector<Range>& chunks, const Route& route)
      : schedule_(schedule), placement_(placement), chunks_(chunks), route_(route), strands_(schedule) {}

  /// The own block starts as `own`, which has the place of the own chunk in `own.range`.
  void gather(const Piece& own);
  /// Leaves the own chunk's sum in `result`.
  void reduce(const Piece& result);

 private:
  /// Positions whose blocks travel together along line `phase` from its member `member`: those that differ from it on
  /// the lines before.
  std::vector<Index> together(std::size_t phase, Index member) const;
  Range part(Index position) const { return route_.part(chunks_[static_cast<std::size_t>(position)]); }
  void gather_along(std::size_t phase, const std::function<Piece(Index position)>& place);
  void reduce_along(std::size_t phase, const Piece& result);
  void send_sums(const Line& line, Direction direction, std::size_t phase, const Unit& into);
  Unit operands(std::size_t phase, Index member) const;
  Unit work(const Unit& like);

  Schedule& schedule_;
  const Placement& placement_;
  const std::vector<Range>& chunks_;
  const Route& route_;
  Strands strands_;
  std::vector<Piece> sums_;  ///< by position: where the sum of the lines done so far lies; empty before the first
};

std::vector<Index> Traveller::together(std::size_t phase, Index member) const {
  const Index position = route_.lines[phase].members[static_cast<std::size_t>(member)];
  return positions_along(route_, {0, static_cast<Index>(phase)}, placement_, position);
}

void Traveller::gather(const Piece& own) {
  const auto place = [&](Index position) {
    if (position != placement_.position) return Piece{Buffer::output, part(position)};
    const Range mine = route_.part(own.range);
    return Piece{own.buffer, mine};
  };
  for (std::size_t phase = 0; phase < route_.lines.size(); ++phase) {
    gather_along(phase, place);
    strands_.meet();
  }
}

void Traveller::gather_along(std::size_t phase, const std::function<Piece(Index position)>& place) {
  const Line& line = route_.lines[phase];
  for (const Direction direction : kDirections) {
    const Index hops = line.hops.in(direction);
    for (Index s = 1; s <= hops; ++s) {
      const auto pieces = [&](Index distance) {
        Unit unit;
        for (const Index position : together(phase, line.at(-sign(direction) * distance))) {
          Piece piece = place(position);
          if (line.hops.halved && s == hops) piece.range = half(piece.range, direction);
          unit.push_back(piece);
        }
        return unit;
      };
      Step step;
      for (const Piece& piece : pieces(s - 1)) step.sends.push_back({line.peer(direction, 1), piece});
      for (const Piece& piece : pieces(s)) step.receives.push_back({line.peer(direction, -1), piece});
      strands_.add(direction, std::move(step));
    }
  }
}

void Traveller::reduce(const Piece& result) {
  for (std::size_t phase = route_.lines.size(); phase-- > 0;) {
    reduce_along(phase, result);
    strands_.meet();
  }
}

Unit Traveller::operands(std::size_t phase, Index member) const {
  Unit unit;
  for (const Index position : together(phase, member)) {
    unit.push_back(sums_.empty() ? Piece{Buffer::input, part(position)} : sums_[static_cast<std::size_t>(position)]);
  }
  return unit;
}

Unit Traveller::work(const Unit& like) {
  Unit unit;
  for (const Piece& piece : like) {
    const Index begin = schedule_.work_size;
    schedule_.work_size += piece.size();
    unit.push_back({Buffer::work, {begin, begin + piece.size()}});
  }
  return unit;
}

void Traveller::reduce_along(std::size_t phase, const Piece& result) {
  const Line& line = route_.lines[phase];
  if (line.length() == 1) return;
  const Unit own = operands(phase, line.index);
  const bool last = phase == 0;
  Unit total;
  if (last) {
    total = {{result.buffer, route_.part(result.range)}};
  } else {
    total = work(own);
  }
  if (line.hops.left == 0) {
    send_sums(line, Direction::right, phase, total);
  } else {
    const Unit from_left = work(own);
    const Unit from_right = work(own);
    send_sums(line, Direction::right, phase, from_left);
    send_sums(line, Direction::left, phase, from_right);
    strands_.meet();
    Step join;
    for (std::size_t k = 0; k < total.size(); ++k)
      join.locals.push_back({total[k], {from_left[k], from_right[k]}, last});
    strands_.add(Direction::right, std::move(join));
  }
  sums_.resize(chunks_.size());
  const std::vector<Index> mine = together(phase, line.index);
  for (std::size_t k = 0; k < mine.size(); ++k) sums_[static_cast<std::size_t>(mine[k])] = total[k];
}

/// A piece of a sum under way: the range within its unit's piece, and whether the sender has received a part of it
/// before (otherwise the chain begins with the sender's operand).
struct Leg {
  Range within;
  bool begun = false;
};

/// How a piece of `size` elements is cut when its sum has `remaining` hops to go. The chains of the half that goes the
/// other way begin one hop later.
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

void Traveller::send_sums(const Line& line, Direction direction, std::size_t phase, const Unit& into) {
  const Index hops = line.hops.in(direction);
  const bool one_way = line.hops.left == 0;
  Index largest = 0;
  for (Index m = 0; m < line.length(); ++m) largest = std::max(largest, size_of_unit(operands(phase, m)));
  // A step receives into one of two places while it sends from the other.
  const Index transit = schedule_.work_size;
  if (hops > 1) schedule_.work_size += 2 * largest;
  const auto under_way = [&](const Unit& operand, Index s) {
    Unit unit;
    Index begin = transit + s % 2 * largest;
    for (const Piece& piece : operand) {
      unit.push_back({Buffer::work, {begin, begin + piece.size()}});
      begin += piece.size();
    }
    return unit;
  };
  for (Index s = 1; s <= hops; ++s) {
    const Index remaining = hops - s + 1;
    Step step;
    const Unit sent = operands(phase, line.at(sign(direction) * remaining));
    const Unit sums = under_way(sent, s - 1);
    for (std::size_t k = 0; k < sent.size(); ++k) {
      for (const Leg& leg : legs(sent[k].size(), line.hops, remaining, direction)) {
        step.sends.push_back({line.peer(direction, 1), inside(leg.begun ? sums[k] : sent[k], leg.within), true});
      }
    }
    const bool arrives = remaining == 1;
    const Unit operand = operands(phase, line.at(sign(direction) * (remaining - 1)));
    const Unit target = arrives ? into : under_way(operand, s);
    // The owner's operand is added once, to the sum that comes from the left.
    const Action action = arrives && direction == Direction::left ? Action::copy : Action::reduce;
    for (std::size_t k = 0; k < operand.size(); ++k) {
      for (const Leg& leg : legs(operand[k].size(), line.hops, remaining, direction)) {
        Receive receive{line.peer(direction, -1), inside(target[k], leg.within), action};
        if (action == Action::reduce) receive.operand = inside(operand[k], leg.within);
        receive.partial = true;
        receive.last = arrives && one_way && phase == 0;
        step.receives.push_back(receive);
      }
    }
    strands_.add(direction, std::move(step));
  }
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
