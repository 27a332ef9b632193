#include "collectives/schedule/torus_exchange.h"

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

#include "collectives/schedule/torus.h"

// all_to_all by `ring` and `bidirectional`. Blocks go from neighbour to neighbour until they reach their position.
// Block xy goes from position x to position y.
//
// `ring`, everything to the right neighbour:
//
//               position 0       position 1       position 2       position 3
//     round 1   01 02 03 to 1    12 13 10 to 2    23 20 21 to 3    30 31 32 to 0
//     round 2   31 32    to 1    02 03    to 2    13 10    to 3    20 21    to 0
//     round 3   21       to 1    32       to 2    03       to 3    10       to 0
//
// The first block that a position receives in a round is its own. It sends the others on in the next round.
//
// `bidirectional`, the messages of position 0. 02' and 02" are the halves of block 02, which goes half way round:
//
//     round 1   01 02' to 1      03 02" to 3
//     round 2   31'    to 1      13"    to 3
//
// Over several axes a block takes the lines of its route in turn. Between two lines it rests in the work buffer.

namespace shardline::collectives {
namespace {

/// A block of the exchange, or the part of it that takes this route.
struct Item {
  Index origin = 0;
  Index destination = 0;
  auto operator<=>(const Item&) const = default;
};

/// One route of an exchange. `turn` counts the lines of the route.
class Forwarder {
 public:
  Forwarder(Schedule& schedule, const Placement& placement, const Exchange& exchange, const Route& route)
      : schedule_(schedule), placement_(placement), exchange_(exchange), route_(route), strands_(schedule) {}

  void run() {
    for (std::size_t turn = 0; turn < route_.lines.size(); ++turn) {
      run_along(turn);
      strands_.meet();
    }
  }

 private:
  /// A block, or half of one, that travels in one direction.
  struct Parcel {
    Item item;
    Range part;          ///< within the block
    Index distance = 0;  ///< hops in all
  };
  /// A round along a line: every parcel that is not there yet crosses a link.
  struct Hop {
    std::size_t turn = 0;
    Direction direction = Direction::right;
    Index number = 1;
  };
  /// Parcels that were received in one round, to be sent on in the next.
  using Passing = std::map<Item, Piece>;

  std::vector<Item> items(std::size_t turn, Index from, Index to) const;
  std::vector<Parcel> parcels(const Hop& hop, Index from) const;
  void run_along(std::size_t turn);
  void send_along(std::size_t turn, Direction direction);
  std::vector<Send> sends(const Hop& hop, const Passing& passing) const;
  std::vector<Receive> receives(const Hop& hop, Range place, Passing& passing);
  /// Elements that arrive in this hop and travel further.
  Index in_transit(const Hop& hop) const;
  /// The member whose parcels arrive here in this hop.
  Index origin(const Hop& hop) const;
  Range reserve(Index size);
  /// The parcel in the place of its block.
  Piece within(const Piece& place, const Parcel& parcel) const;
  /// The place of a block that this position holds when a turn begins.
  Piece held(const Item& item) const;
  /// The place for a block that arrives and does not travel further in this turn.
  Piece resting_place(const Item& item);

  Schedule& schedule_;
  const Placement& placement_;
  const Exchange& exchange_;
  const Route& route_;
  Strands strands_;
  std::map<Item, Piece> resting_;  ///< received and not yet at home
};

/// The blocks of member `from` of line `turn` for member `to`.
std::vector<Item> Forwarder::items(std::size_t turn, Index from, Index to) const {
  const Line& line = route_.lines[turn];
  std::vector<Item> all;
  const auto here = static_cast<Index>(turn);
  // The block has already travelled along the lines before this one, and will travel along the lines after it.
  const std::vector<Index> origins =
      positions_along(route_, {0, here}, placement_, line.members[static_cast<std::size_t>(from)]);
  const std::vector<Index> destinations = positions_along(route_, {here + 1, static_cast<Index>(route_.lines.size())},
                                                          placement_, line.members[static_cast<std::size_t>(to)]);
  for (const Index origin : origins) {
    for (const Index destination : destinations) all.push_back({origin, destination});
  }
  return all;
}

/// The parcels of member `from` that make this hop, those with the shortest way first.
std::vector<Forwarder::Parcel> Forwarder::parcels(const Hop& hop, Index from) const {
  const Line& line = route_.lines[hop.turn];
  const Index hops = line.hops.in(hop.direction);
  std::vector<Parcel> all;
  for (Index distance = hop.number; distance <= hops; ++distance) {
    const Index to = ring_position(from, sign(hop.direction) * distance, line.length());
    for (const Item& item : items(hop.turn, from, to)) {
      Range part = route_.part({0, exchange_.size(item.origin, item.destination)});
      if (line.hops.halved && distance == hops) part = half(part, hop.direction);
      all.push_back({item, part, distance});
    }
  }
  return all;
}

Range Forwarder::reserve(Index size) {
  const Index begin = schedule_.work_size;
  schedule_.work_size += size;
  return {begin, begin + size};
}

Piece Forwarder::within(const Piece& place, const Parcel& parcel) const {
  const Index first = route_.part({0, exchange_.size(parcel.item.origin, parcel.item.destination)}).begin;
  const Index begin = place.range.begin + parcel.part.begin - first;
  return {place.buffer, {begin, begin + parcel.part.size()}};
}

Piece Forwarder::held(const Item& item) const {
  const auto found = resting_.find(item);
  if (found != resting_.end()) return found->second;
  return {Buffer::input, route_.part(exchange_.sends[static_cast<std::size_t>(item.destination)])};
}

Piece Forwarder::resting_place(const Item& item) {
  if (item.destination == placement_.position) {
    return {Buffer::output, route_.part(exchange_.receives[static_cast<std::size_t>(item.origin)])};
  }
  const auto [found, is_new] = resting_.try_emplace(item);
  if (is_new) {
    found->second = {Buffer::work, reserve(route_.part({0, exchange_.size(item.origin, item.destination)}).size())};
  }
  return found->second;
}

void Forwarder::run_along(std::size_t turn) {
  for (const Direction direction : kDirections) send_along(turn, direction);
}

void Forwarder::send_along(std::size_t turn, Direction direction) {
  Passing passing;
  Range places[2];  // a round receives into one while it sends from the other
  for (Index number = 1; number <= route_.lines[turn].hops.in(direction); ++number) {
    const Hop hop{turn, direction, number};
    Range& place = places[number % 2];
    const Index transit = in_transit(hop);
    if (place.size() < transit) place = reserve(transit);
    Round round;
    round.sends = sends(hop, passing);
    passing.clear();
    round.receives = receives(hop, place, passing);
    strands_.add(direction, std::move(round));
  }
}

std::vector<Send> Forwarder::sends(const Hop& hop, const Passing& passing) const {
  const Line& line = route_.lines[hop.turn];
  const Index sender = line.at(-sign(hop.direction) * (hop.number - 1));
  std::vector<Send> all;
  for (const Parcel& parcel : parcels(hop, sender)) {
    const Piece from = hop.number == 1 ? within(held(parcel.item), parcel) : passing.at(parcel.item);
    all.push_back({line.peer(hop.direction, 1), from});
  }
  return all;
}

/// Parcels that travel further go to `place` and into `passing`.
std::vector<Receive> Forwarder::receives(const Hop& hop, Range place, Passing& passing) {
  const Index peer = route_.lines[hop.turn].peer(hop.direction, -1);
  Index begin = place.begin;
  std::vector<Receive> all;
  for (const Parcel& parcel : parcels(hop, origin(hop))) {
    if (parcel.distance == hop.number) {
      all.push_back({peer, within(resting_place(parcel.item), parcel)});
      continue;
    }
    const Piece into{Buffer::work, {begin, begin + parcel.part.size()}};
    begin = into.range.end;
    passing[parcel.item] = into;
    all.push_back({peer, into});
  }
  return all;
}

Index Forwarder::in_transit(const Hop& hop) const {
  Index sum = 0;
  for (const Parcel& parcel : parcels(hop, origin(hop))) {
    if (parcel.distance > hop.number) sum += parcel.part.size();
  }
  return sum;
}

Index Forwarder::origin(const Hop& hop) const { return route_.lines[hop.turn].at(-sign(hop.direction) * hop.number); }

}  // namespace

Schedule torus_all_to_all(Algorithm algorithm, const Placement& placement, const Exchange& exchange) {
  Schedule schedule;
  schedule.by_link = true;
  for (const Route& route : exchange_routes(algorithm, placement)) {
    Forwarder(schedule, placement, exchange, route).run();
  }
  return schedule;
}

}  // namespace shardline::collectives
