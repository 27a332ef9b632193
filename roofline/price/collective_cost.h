#pragma once

#include <vector>

#include "roofline/price/hardware.h"
#include "runtime/base/shape.h"

namespace shardline::roofline {

/// What a collective has to move, whatever algorithm moves it.
struct Collective {
  std::vector<Index> ranks = {};  ///< by axis
  Bytes sent = {};                ///< leaving the busiest rank when every piece goes straight to its receiver
  Bytes received = {};            ///< from the others by the busiest rank; where they share memory, what it reads
  Bytes added = {};               ///< the part of what arrives that is added to this rank's own
  Bytes kept = {};                ///< of the operand, copied to the rank's own result
  Bytes packed = {};              ///< copied once more into messages or out of them, when by messages
  int rounds = 1;                 ///< 2 for an all_reduce: a reduce_scatter, then an all_gather
  /// True: every rank has a different piece for each other rank (all_to_all, reshard). False: every piece goes to all.
  bool scatters = false;
  bool by_messages = false;  ///< even where the ranks share memory
  Bytes reach = {};          ///< touched since the operand was last used
};

/// The transfer by messages over these axes, by the algorithm that suits their links.
/// - Switched axes: one message to each rank, all axes together.
/// - Axes between neighbours (book section 3.2): one ring for each axis. The rings share the bytes, and go both ways
///   where the axis wraps. Latency counts the longest way: p / 2 hops on a ring of p, p - 1 on a line, summed over
///   axes.
/// - Axes of both kinds: first through the switch, then in each torus.
/// - `scatters`: of the bytes that a rank holds, p / 8 cross each link of a two-way ring, and p / 4 each link of a line
///   (book exercise 3.10).
/// Packing and keeping (read one array, write one) and adding (read two, write one) go through memory. In the book's
/// limit (Hardware::cost_mode) a rank sends p / (p - 1) times `sent`, unless all axes are lines.
Transfer transfer_of(const Collective& collective, const Axes& axes, const Hardware& hardware);

/// True when the ranks of all axes share memory in which each reads what the others have.
bool share_memory(const Axes& axes, const Hardware& hardware);

/// What a rank reads from others in shared memory, and what it copies of its own.
struct Reading {
  Bytes copied = {};
  Bytes added = {};
  Bytes kept = {};
  Bytes reach = {};    ///< touched since its own operand was last used
  int rounds = 1;      ///< of agreeing, one after the other
  bool again = false;  ///< the same as before, unchanged since
};

/// What algorithm `direct` reads. A small all_reduce (of two rounds) is one pass in which every rank adds all of the
/// others' arrays.
Reading reading_of(const Collective& collective, const Hardware& hardware);

/// The price of a Reading. Over several axes the slowest counts.
Price shared_price(const Reading& reading, const Axes& axes, const Hardware& hardware);

/// shared_price() where the ranks share memory and the collective does not go by messages, otherwise transfer_price()
/// of transfer_of().
Price collective_price(const Collective& collective, const Axes& axes, const Hardware& hardware);

}  // namespace shardline::roofline
