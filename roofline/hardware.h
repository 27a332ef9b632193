#pragma once

#include <map>
#include <string>
#include <string_view>

#include "collectives/options.h"
#include "kernels/cost.h"
#include "runtime/axes.h"
#include "runtime/base/units.h"

namespace shardline::roofline {

/// How the ranks of one mesh axis reach each other, as one message between ring neighbours sees it while all of them
/// send at once.
struct Link {
  Seconds latency;           ///< of one step
  BytesPerSecond bandwidth;  ///< leaving one rank in one direction
  bool two_way = false;      ///< both directions carry that at once: the axis wraps and has more than two ranks
  bool frees_cores = true;   ///< moving leaves the cores free, as networks do and the memory of a node does not
  bool switched = true;  ///< any rank reaches any other at once; otherwise messages pass from neighbour to neighbour
  std::string resource = {};  ///< what carries it: axes on one resource take turns; empty for one of the axis' own
};

/// What one rank of a machine can do while all ranks are busy.
struct Hardware {
  std::string name = {};
  FlopsPerSecond matmul;            ///< matrix products
  BytesPerSecond memory;            ///< reading and writing together
  Seconds overhead;                 ///< of starting any operation
  std::map<Axis, Link> links = {};  ///< by mesh axis; axes of size 1 have none
  /// By which partial sums in bf16 are reduced.
  collectives::Wire bf16_wire = collectives::Wire::exchange;

  /// The link of an axis; throws Error when it has none.
  const Link& link(const Axis& axis) const;
};

/// What binds an operation.
enum class Limiter : std::uint8_t { compute, memory, link, latency };

std::string_view name_of(Limiter limiter);

/// A predicted time and what binds it.
struct Price {
  Seconds time;
  Limiter limiter = Limiter::latency;
};

/// Roofline of one kernel call (book section 1): the larger of FLOPs over rate and bytes over bandwidth, plus the
/// overhead of a call.
Price kernel_price(const kernels::Cost& cost, const Hardware& hardware);

/// What a collective moves, beside which it is priced.
struct Transfer {
  double steps = 0;  ///< messages one after the other
  Bytes wire = {};   ///< leaving the busiest rank in its busiest direction
  Bytes local = {};  ///< read and written in this rank's memory: packing, reducing, copying
};

/// Steps times latency, plus wire bytes over bandwidth, plus local bytes over memory bandwidth (book section 3.2). Over
/// several axes the slowest link counts. Throws Error when an axis has no link.
Price transfer_price(const Transfer& transfer, const Axes& axes, const Hardware& hardware);

}  // namespace shardline::roofline
