#include "collectives/schedule/torus_exchange.h"

#include <algorithm>
#include <map>
#include <utility>

#include "collectives/schedule/torus.h"

namespace shardline::collectives {
namespace {

/// A block of the exchange, or the part of it that takes this route.
struct Item {
  Index origin = 0;
  Index destination = 0;
};

/// One route of an exchange.
class Forwarder {
 public:
  Forwarder(Schedule& schedule, const Placement& placement, const Exchange& exchange, const Route& route)
      : schedule_(schedule), placement_(placement), exchange_(exchange), route_(route), strands_(schedule) {}

  void run() {
    for (std::size_t phase = 0; phase < route_.lines.size(); ++phase) {
      run_along(phase);
      strands_.meet();
    }
  }

 private:
  /// A block, or half of one, that travels in one direction.
  struct Parcel {
    Item item;
    Range part;  ///< within the block
  };

  std::vector<Item> items(std::size_t phase, Index from, Index to) const;
  std::vector<Parcel> parcels(std::size_t phase, Index from, Direction direction, Index distance) const;
  void run_along(std::size_t phase);
  void send_along(std::size_t phase, Direction direction);
  Range reserve(Index size);
  /// Where a block that this position holds at the beginning of a phase lies.
  Piece held(const Item& item) const;
  /// Where a block goes that stays here in this phase.
  Piece resting_place(const Item& item);

  Schedule& schedule_;
  const Placement& placement_;
  const Exchange& exchange_;
  const Route& route_;
  Strands strands_;
  std::map<std::pair<Index, Index>, Piece> resting_;  ///< received and not yet at home, by origin and destination
};

/// What member `from` of line `phase` has for member `to`.
std::vector<Item> Forwarder::items(std::size_t phase, Index from, Index to) const {
  const Line& line = route_.lines[phase];
  std::vector<Item> all;
  const auto here = static_cast<Index>(phase);
  // On the lines before this one blocks have come together, on those after it they are still to part.
  const std::vector<Index> origins =
      positions_along(route_, {0, here}, placement_, line.members[static_cast<std::size_t>(from)]);
  const std::vector<Index> destinations = positions_along(route_, {here + 1, static_cast<Index>(route_.lines.size())},
                                                          placement_, line.members[static_cast<std::size_t>(to)]);
  for (const Index origin : origins) {
    for (const Index destination : destinations) all.push_back({origin, destination});
  }
  return all;
}

std::vector<Forwarder::Parcel> Forwarder::parcels(std::size_t phase, Index from, Direction direction,
                                                  Index distance) const {
  const Line& line = route_.lines[phase];
  std::vector<Parcel> all;
  for (const Item& item : items(phase, from, ring_position(from, sign(direction) * distance, line.length()))) {
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

/// `part` of a block whose part on this route lies in `place`.
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

void Forwarder::run_along(std::size_t phase) {
  for (const Direction direction : kDirections) send_along(phase, direction);
}

void Forwarder::send_along(std::size_t phase, Direction direction) {
  const Line& line = route_.lines[phase];
  const Index hops = line.hops.in(direction);
  std::map<std::pair<Index, Index>, Piece> passing;  // received in the step before, to be sent on
  Range places[2];                                   // a step receives into one while it sends from the other
  for (Index s = 1; s <= hops; ++s) {
    Step step;
    const Index sender = line.at(-sign(direction) * (s - 1));
    const Index origin = line.at(-sign(direction) * s);
    std::map<std::pair<Index, Index>, Piece> next;
    for (Index distance = s; distance <= hops; ++distance) {
      for (const Parcel& parcel : parcels(phase, sender, direction, distance)) {
        const auto key = std::make_pair(parcel.item.origin, parcel.item.destination);
        const Index first = route_.part({0, exchange_.size(key.first, key.second)}).begin;
        const Piece from = s == 1 ? within(held(parcel.item), parcel.part, first) : passing.at(key);
        step.sends.push_back({line.peer(direction, 1), from});
      }
    }
    Index transit = 0;
    for (Index distance = s + 1; distance <= hops; ++distance) {
      for (const Parcel& parcel : parcels(phase, origin, direction, distance)) transit += parcel.part.size();
    }
    Range& place = places[s % 2];
    if (place.size() < transit) place = reserve(transit);
    Index begin = place.begin;
    for (Index distance = s; distance <= hops; ++distance) {
      for (const Parcel& parcel : parcels(phase, origin, direction, distance)) {
        const auto key = std::make_pair(parcel.item.origin, parcel.item.destination);
        const Index first = route_.part({0, exchange_.size(key.first, key.second)}).begin;
        Piece into{Buffer::work, {begin, begin + parcel.part.size()}};
        if (distance == s) {
          into = within(resting_place(parcel.item), parcel.part, first);
        } else {
          begin = into.range.end;
          next[key] = into;
        }
        step.receives.push_back({line.peer(direction, -1), into});
      }
    }
    passing = std::move(next);
    strands_.add(direction, std::move(step));
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
