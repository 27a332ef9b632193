#include "roofline/price/collective_cost.h"

#include <algorithm>

namespace shardline::roofline {
namespace {

/// Hops between the two most distant ranks of an axis of `ranks`.
Index longest_way(Index ranks, const Link& link) { return link.two_way ? ranks / 2 : ranks - 1; }

/// The whole array. `part` is the p - 1 of its p blocks that a rank sends or receives.
Bytes whole_of(Bytes part, const std::vector<Index>& ranks) {
  const auto p = static_cast<double>(element_count(ranks));
  return p > 1 ? part * (p / (p - 1)) : part;
}

/// The part of `whole` that goes to the other ranks.
Bytes part_of(Bytes whole, const std::vector<Index>& ranks) {
  return whole * (1 - 1 / static_cast<double>(element_count(ranks)));
}

BytesPerSecond slowest_of(const std::vector<Link>& links) {
  BytesPerSecond slowest = links[0].bandwidth;
  for (const Link& link : links) slowest = std::min(slowest, link.bandwidth);
  return slowest;
}

/// Bytes that cross the busiest link of an axis in one direction, divided by the bytes of a rank, if every rank
/// has a different piece for each of the `ranks`.
double scattered_share(Index ranks, const Link& link, CostMode mode) {
  const auto p = static_cast<double>(ranks);
  if (link.two_way && mode == CostMode::book_limit) return p / 8;
  const Index below_middle = ranks / 2;
  // A ring: pieces go the shorter way, p / 4 hops on average, half of them in each direction. A line: every
  // rank below the middle has a piece for every rank above it.
  const auto crossing = static_cast<double>(below_middle * (ranks - below_middle));
  return link.two_way ? crossing / (2 * p) : crossing / p;
}

/// Memory traffic of a copy: one array read and one written.
Bytes copying(Bytes bytes) { return 2 * bytes; }

/// Packing, and adding: two arrays read and one written.
Bytes local_bytes(const Collective& collective) { return copying(collective.packed) + 3 * collective.added; }

/// The torus axes under a mesh axis of `ranks`, with their lengths.
std::vector<std::pair<Index, Link>> torus_axes(Index ranks, const Link& link) {
  if (link.sides.empty()) return {{ranks, link}};
  std::vector<std::pair<Index, Link>> axes;
  for (const TorusSide& side : link.sides) {
    axes.emplace_back(side.ranks, link);
    axes.back().second.two_way = side.wraps && side.ranks > 2;
  }
  return axes;
}

/// Bytes that a rank sends on a ring: all pieces except one. If pieces have different sizes this is the smaller
/// of `sent` (its own piece to each other rank) and `received` (a piece to add from each other rank).
Bytes passed_round(const Collective& collective) {
  return collective.received.value > 0 ? std::min(collective.sent, collective.received) : collective.sent;
}

/// Between neighbours.
MessageWork over_torus(const Collective& collective, const std::vector<Link>& links, CostMode mode) {
  MessageWork work{.local = local_bytes(collective), .kept = copying(collective.kept), .reach = collective.reach};
  double total = 0;
  const double slowest = slowest_of(links).value;
  for (std::size_t a = 0; a < links.size(); ++a) {
    work.messages += static_cast<double>(collective.rounds * longest_way(collective.ranks[a], links[a]));
    total += links[a].two_way ? links[a].both_ways.value : links[a].bandwidth.value;
  }
  const bool wraps = std::any_of(links.begin(), links.end(), [](const Link& link) { return link.two_way; });
  const bool whole = mode == CostMode::book_limit && wraps;
  const Bytes passed = passed_round(collective);
  work.wire = (whole ? whole_of(passed, collective.ranks) : passed) * (slowest / total);
  if (!collective.scatters) return work;

  const Bytes held = whole_of(collective.sent, collective.ranks);
  work.wire = Bytes(0);
  for (std::size_t a = 0; a < links.size(); ++a) {
    const double crossing = scattered_share(collective.ranks[a], links[a], mode) * slowest / links[a].bandwidth.value;
    work.wire = std::max(work.wire, held * crossing);
  }
  return work;
}

/// Rank by rank.
MessageWork through_switch(const Collective& collective, CostMode mode) {
  const bool whole = mode == CostMode::book_limit;
  return {.messages = static_cast<double>(collective.rounds * (element_count(collective.ranks) - 1)),
          .wire = whole ? whole_of(collective.sent, collective.ranks) : collective.sent,
          .local = local_bytes(collective),
          .kept = copying(collective.kept),
          .reach = collective.reach};
}

}  // namespace

MessageWork message_work(const Collective& collective, const Axes& axes, const Hardware& hardware) {
  std::vector<Link> torus;
  std::vector<Link> switches;
  std::vector<Index> torus_ranks;
  std::vector<Index> switched_ranks;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const Link& link = hardware.link(axes[a]);
    if (link.switched) {
      switches.push_back(link);
      switched_ranks.push_back(collective.ranks[a]);
      continue;
    }
    for (const auto& [side, each] : torus_axes(collective.ranks[a], link)) {
      torus_ranks.push_back(side);
      torus.push_back(each);
    }
  }
  Collective part = collective;
  part.ranks = torus_ranks;
  if (switches.empty() && !torus.empty()) return over_torus(part, torus, hardware.cost_mode);
  part.ranks = switched_ranks;
  if (torus.empty()) return through_switch(part, hardware.cost_mode);

  // First the switch carries the part of the array that one rank of each torus has. Then the links of each
  // torus carry the rest.
  const Bytes whole = whole_of(collective.sent, collective.ranks);
  part.received = Bytes(0);
  part.sent = collective.scatters ? whole : whole / static_cast<double>(element_count(torus_ranks));
  part.sent = part_of(part.sent, switched_ranks);
  MessageWork work = through_switch(part, hardware.cost_mode);
  part.ranks = torus_ranks;
  part.sent = part_of(whole, torus_ranks);
  const MessageWork within = over_torus(part, torus, hardware.cost_mode);
  const BytesPerSecond switched = slowest_of(switches);
  const BytesPerSecond inside = slowest_of(torus);
  work.messages += within.messages;
  work.wire = Bytes((work.wire / switched + within.wire / inside).value * std::min(switched, inside).value);
  return work;
}

bool share_memory(const Axes& axes, const Hardware& hardware) {
  return std::all_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    const auto link = hardware.links.find(axis);
    return link == hardware.links.end() || link->second.shared.has_value();
  });
}

Reading reading_of(const Collective& collective, const Hardware& hardware) {
  const Index ranks = element_count(collective.ranks);
  const Bytes whole = whole_of(collective.added, collective.ranks);
  const Index limit = ranks == 2 ? hardware.tuning.one_pass_bytes_of_two : hardware.tuning.one_pass_bytes_of_more;
  if (collective.rounds == 2 && whole.value < static_cast<double>(limit)) {
    return {.added = whole * static_cast<double>(ranks - 1)};
  }
  return {.copied = collective.received - collective.added,
          .added = collective.added,
          .kept = collective.kept,
          .reach = collective.reach,
          .rounds = collective.rounds};
}

Price shared_price(const Reading& reading, const Axes& axes, const Hardware& hardware) {
  Seconds latency;
  Seconds wire;
  for (const Axis& axis : axes) {
    const auto link = hardware.links.find(axis);
    if (link == hardware.links.end()) continue;
    const SharedMemory& memory = *link->second.shared;
    const auto time = [](Bytes bytes, const Curve& curve) {
      return bytes.value > 0 ? bytes / BytesPerSecond(curve.at(bytes.value)) : Seconds(0);
    };
    const bool copies_again = reading.again && !memory.copy_again.empty();
    const bool adds_again = reading.again && !memory.add_again.empty();
    latency = std::max(latency, hardware.overhead + memory.latency * reading.rounds);
    wire = std::max(wire, time(reading.copied, copies_again ? memory.copy_again : memory.copy) +
                              time(reading.added, adds_again ? memory.add_again : memory.add));
  }
  const Bytes own = copying(reading.kept);
  return moving_price(latency, wire, own / hardware.memory_rate(std::max(own, reading.reach)));
}

Price collective_price(const Collective& collective, const Axes& axes, const Hardware& hardware) {
  if (!collective.by_messages && !axes.empty() && share_memory(axes, hardware)) {
    return shared_price(reading_of(collective, hardware), axes, hardware);
  }
  return message_price(message_work(collective, axes, hardware), axes, hardware);
}

}  // namespace shardline::roofline
