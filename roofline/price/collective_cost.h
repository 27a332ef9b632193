#pragma once

#include <vector>

#include "roofline/price/hardware.h"
#include "runtime/base/shape.h"

namespace shardline::roofline {

/// The data of a collective. It does not depend on the algorithm.
struct Collective {
  std::vector<Index> ranks = {};  ///< by axis
  Bytes sent = {};                ///< leaving the busiest rank if every piece goes straight to its receiver
  Bytes received = {};            ///< by the busiest rank from the others; in shared memory: read by it
  Bytes added = {};               ///< the part of `received` that is added to this rank's own data
  Bytes kept = {};                ///< part of the operand that is copied to the rank's own result
  Bytes packed = {};              ///< by messages only: copied once more, into or out of messages
  int rounds = 1;                 ///< 2 for an all_reduce: a reduce_scatter, then an all_gather
  /// True: a rank has a different piece for each rank (all_to_all, reshard). False: every piece goes to all ranks.
  bool scatters = false;
  bool by_messages = false;  ///< by messages even if the ranks share memory
  Bytes reach = {};          ///< touched since the last use of the operand
};

/// The transfer by messages over these axes. The links decide the algorithm.
/// - Switched axes: one message to each rank, all axes together.
/// - Axes between neighbours (book section 3.2): one ring for each axis. The rings share the bytes. They go
///   both ways if the axis wraps. Latency counts the longest way, summed over axes: p / 2 hops on a ring of p,
///   p - 1 on a line.
/// - Axes of both kinds: first through the switch, then in each torus.
/// - `scatters`: each link of a two-way ring carries p / 8 times the bytes of a rank, each link of a line p / 4
///   times (book exercise 3.10).
/// Packing and keeping (read one array, write one) and adding (read two, write one) use memory bandwidth. In
/// the book's limit (Hardware::cost_mode) a rank sends p / (p - 1) times `sent`, unless all axes are lines.
MessageWork message_work(const Collective& collective, const Axes& axes, const Hardware& hardware);

/// True if the ranks of all axes share memory and read each other's arrays there.
bool share_memory(const Axes& axes, const Hardware& hardware);

/// The bytes that a rank reads from others in shared memory, and the bytes that it copies of its own.
struct Reading {
  Bytes copied = {};
  Bytes added = {};
  Bytes kept = {};
  Bytes reach = {};    ///< touched since the last use of its own operand
  int rounds = 1;      ///< in which the ranks agree, one after the other
  bool again = false;  ///< the same data as before; nobody wrote it in between
};

/// The Reading of algorithm `direct`. A small all_reduce (of two rounds) is one pass: every rank adds the
/// arrays of all others.
Reading reading_of(const Collective& collective, const Hardware& hardware);

/// The price of a Reading. The slowest axis counts.
Price shared_price(const Reading& reading, const Axes& axes, const Hardware& hardware);

/// shared_price() if the ranks share memory and the collective does not go by messages. Otherwise
/// message_price() of message_work().
Price collective_price(const Collective& collective, const Axes& axes, const Hardware& hardware);

}  // namespace shardline::roofline
