#include "collectives/schedule/torus_exchange.h"

#include <algorithm>
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
    Range part;  ///< within the block
  };

  std::vector<Item> items(std::size_t turn, Index from, Index to) const;
  std::vector<Parcel> parcels(std::size_t turn, Index from, Direction direction, Index distance) const;
  void run_along(std::size_t turn);
  void send_along(std::size_t turn, Direction direction);
  Range reserve(Index size);
  /// The place of a block that this position holds when a turn begins.
  Piece held(const Item& item) const;
  /// The place for a block that arrives and does not travel further in this turn.
  Piece resting_place(const Item& item);

  Schedule& schedule_;
  const Placement& placement_;
  const Exchange& exchange_;
  const Route& route_;
  Strands strands_;
  std::map<std::pair<Index, Index>, Piece> resting_;  ///< between two lines; by origin and destination
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

std::vector<Forwarder::Parcel> Forwarder::parcels(std::size_t turn, Index from, Direction direction,
                                                  Index distance) const {
  const Line& line = route_.lines[turn];
  std::vector<Parcel> all;
  for (const Item& item : items(turn, from, ring_position(from, sign(direction) * distance, line.length()))) {
    Range part = route_.part({0, exchange_.size(item.origin, item.destination)});
    if (line.hops.halved && distance == line.hops.in(direction)) part = half(part, direction);
    all.push_back({item, part});
  }
  return all;
}

Range Forwarder::reserve(Index size) {
  const Index begin = schedule_.work_size;
  schedule_.work_size += size;
  return {begin, begin + size};
}

/// `part` of a block. `place` holds the block's part on this route.
Piece within(const Piece& place, Range part, Index first) {
  return {place.buffer, {place.range.begin + part.begin - first, place.range.begin + part.end - first}};
}

Piece Forwarder::held(const Item& item) const {
  const auto found = resting_.find({item.origin, item.destination});
  if (found != resting_.end()) return found->second;
  return {Buffer::input, route_.part(exchange_.sends[static_cast<std::size_t>(item.destination)])};
}

Piece Forwarder::resting_place(const Item& item) {
  if (item.destination == placement_.position) {
    return {Buffer::output, route_.part(exchange_.receives[static_cast<std::size_t>(item.origin)])};
  }
  const auto [found, is_new] = resting_.try_emplace({item.origin, item.destination});
  if (is_new) {
    found->second = {Buffer::work, reserve(route_.part({0, exchange_.size(item.origin, item.destination)}).size())};
  }
  return found->second;
}

void Forwarder::run_along(std::size_t turn) {
  for (const Direction direction : kDirections) send_along(turn, direction);
}

void Forwarder::send_along(std::size_t turn, Direction direction) {
  const Line& line = route_.lines[turn];
  const Index hops = line.hops.in(direction);
  std::map<std::pair<Index, Index>, Piece> passing;  // received in the last round, to be sent on
  Range places[2];                                   // a round receives into one and sends from the other
  for (Index s = 1; s <= hops; ++s) {
    Round round;
    const Index sender = line.at(-sign(direction) * (s - 1));
    const Index origin = line.at(-sign(direction) * s);
    std::map<std::pair<Index, Index>, Piece> next;
    for (Index distance = s; distance <= hops; ++distance) {
      for (const Parcel& parcel : parcels(turn, sender, direction, distance)) {
        const auto key = std::make_pair(parcel.item.origin, parcel.item.destination);
        const Index first = route_.part({0, exchange_.size(key.first, key.second)}).begin;
        const Piece from = s == 1 ? within(held(parcel.item), parcel.part, first) : passing.at(key);
        round.sends.push_back({line.peer(direction, 1), from});
      }
    }
    Index transit = 0;
    for (Index distance = s + 1; distance <= hops; ++distance) {
      for (const Parcel& parcel : parcels(turn, origin, direction, distance)) transit += parcel.part.size();
    }
    Range& place = places[s % 2];
    if (place.size() < transit) place = reserve(transit);
    Index begin = place.begin;
    for (Index distance = s; distance <= hops; ++distance) {
      for (const Parcel& parcel : parcels(turn, origin, direction, distance)) {
        const auto key = std::make_pair(parcel.item.origin, parcel.item.destination);
        const Index first = route_.part({0, exchange_.size(key.first, key.second)}).begin;
        Piece into{Buffer::work, {begin, begin + parcel.part.size()}};
        if (distance == s) {
          into = within(resting_place(parcel.item), parcel.part, first);
        } else {
          begin = into.range.end;
          next[key] = into;
        }
        round.receives.push_back({line.peer(direction, -1), into});
      }
    }
    passing = std::move(next);
    strands_.add(direction, std::move(round));
  }
}

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
