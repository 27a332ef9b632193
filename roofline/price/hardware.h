#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/schedule/options.h"
#include "collectives/schedule/tuning.h"
#include "kernels/support/cost.h"
#include "roofline/price/curve.h"
#include "roofline/price/gemm_rates.h"
#include "runtime/base/units.h"
#include "runtime/layout/axes.h"

namespace shardline::roofline {

/// Collectives through memory that ranks share: each rank reads the arrays of the others in place, without messages.
/// Bandwidths are in bytes/s, by the bytes that a rank reads from others, while all ranks read at once.
struct SharedMemory {
  Seconds latency;        ///< of the flags: data is ready, data was read
  Curve copy;             ///< of data that the others have just written and that is not in this rank's caches
  Curve add;              ///< the same, when it is added to a rank's own as reduce_scatter does it
  Curve copy_again = {};  ///< of data that was read before and has not changed since; empty: as `copy`
  Curve add_again = {};   ///< the same, when it is added; empty: as `add`
  bool operator==(const SharedMemory&) const = default;
};

/// One axis of a torus, as long as it is given to a mesh axis.
struct TorusSide {
  Index ranks = 1;
  bool wraps = false;
  bool operator==(const TorusSide&) const = default;
};

/// The links between the ranks of one mesh axis. The figures are those of one message between ring neighbours while all
/// ranks send at once.
struct Link {
  Seconds latency;                ///< of one message
  BytesPerSecond bandwidth;       ///< leaving one rank in one direction
  BytesPerSecond both_ways = {};  ///< leaving one rank in both directions together; used where `two_way`
  bool two_way = false;           ///< data may go round in both directions: the axis wraps and has more than two ranks
  bool frees_cores = true;        ///< cores can compute while data moves: true for networks, not within a node
  double core_share = 0;          ///< with frees_cores: the share of a computing core that moving still takes
  bool switched = true;  ///< any rank reaches any other directly; otherwise messages go from neighbour to neighbour
  std::string resource = {};  ///< name of the shared wire: axes with the same name take turns; empty: not shared
  /// The torus axes that a mesh axis is laid over, each with links of these figures; empty for one as long as it.
  std::vector<TorusSide> sides = {};

  /// Bandwidth out of one rank, over all torus axes and all directions that a collective may use.
  BytesPerSecond all_ways() const;
  std::optional<SharedMemory> shared = {};  ///< how collectives move where the ranks share memory
};

/// How the time of a collective by messages is computed from its messages and bytes.
enum class CostMode : std::uint8_t {
  exact,  ///< the bytes that leave a rank, V (p - 1) / p where p ranks gather V; latency and bandwidth add
  /// The book's limit of large rings (book section 3.2): V bytes where an axis wraps or is switched, the exact bytes on
  /// lines; the longer of latency and bandwidth counts.
  book_limit,
};

/// What one rank of a machine can do while all ranks are busy, for one element type. A rate that is not known by size
/// counts as equal for all sizes.
struct Hardware {
  std::string name = {};
  FlopsPerSecond matmul;            ///< the best that matrix products reach
  BytesPerSecond memory;            ///< of data beyond the caches, every byte read or written counted once
  Seconds overhead;                 ///< of starting any operation
  std::map<Axis, Link> links = {};  ///< by mesh axis; axes of size 1 have none
  GemmRates gemm = {};              ///< matrix products by extents, on operands that the caches hold
  /// Used without `gemm`. True: products copy blocks of their operands and then multiply them, as a BLAS does, so the
  /// times of memory and arithmetic add. False: the longer of the two counts, as on chips that fetch ahead.
  bool products_copy = false;
  std::map<std::string, FlopsPerSecond> kernels = {};  ///< what other kernels reach on data in the caches, by name
  Curve caches = {};  ///< memory bandwidth by bytes touched since the data was last used
  /// True: collectives advance only when a rank polls them between panels of its products, as with MPI.
  bool polled = true;
  collectives::Tuning tuning = collectives::Tuning::built_in();  ///< by which collectives are carried out
  /// The wire over which partial sums in bf16 are reduced.
  collectives::Wire bf16_wire = collectives::Wire::exchange;
  CostMode cost_mode = CostMode::exact;  ///< of collectives by messages; in shared memory there is no other

  /// The link of an axis; throws Error when it has none.
  const Link& link(const Axis& axis) const;
  /// The rate of matrix products of these extents.
  FlopsPerSecond gemm_rate(Index m, Index n, Index k) const;
  /// Memory bandwidth for data that was last used `reach` bytes ago.
  BytesPerSecond memory_rate(Bytes reach) const;
};

/// What binds an operation.
enum class Limiter : std::uint8_t { compute, memory, link, latency };

std::string_view name_of(Limiter limiter);

/// A predicted time, its limiter, and the times of its parts.
struct Price {
  Seconds time;
  Limiter limiter = Limiter::latency;
  Seconds math = {};    ///< FLOPs over what the operation can reach
  Seconds memory = {};  ///< bytes over memory bandwidth
  Seconds comms = {};   ///< between ranks: latency and bytes over the link
};

/// An array that a kernel reads or writes.
struct Touch {
  Bytes bytes;
  Bytes reach;  ///< bytes touched since its last use; a cache smaller than this no longer holds it
};

/// One kernel call as it is priced.
struct Work {
  kernels::Cost cost;
  std::string_view kernel = {};  ///< its name: a machine may have a rate for it
  /// Of the matrix products that it consists of; 0 when it is something else.
  Index m = 0, n = 0, k = 0;
  /// How the bytes of `cost` are spread over arrays; without any, what the call touches is what caches must hold.
  std::vector<Touch> touches = {};
};

/// Roofline of one kernel call (book section 1): the larger of FLOPs over rate and bytes over bandwidth, plus the
/// overhead of a call. The rate is that of products of its extents or, for other kernels, that of `Hardware::kernels`.
/// The time of a product also includes the extra time to load its operands, compared with the measurement of the rates
/// by extents; with `Hardware::products_copy`, the whole time to load them.
Price kernel_price(const Work& work, const Hardware& hardware);

/// What a collective moves by messages, from which its price follows.
struct Transfer {
  double messages = 0;  ///< one after the other
  Bytes wire = {};      ///< leaving the busiest rank in its busiest direction
  Bytes local = {};     ///< read and written in this rank's memory, before or after the wire: packing, adding
  Bytes kept = {};      ///< read and written in this rank's memory while the wire moves, where links free the cores
  Bytes reach = {};     ///< touched since the operand was last used
};

/// Messages times latency, plus wire bytes over bandwidth, plus local bytes over memory bandwidth (book section 3.2).
/// In the book's limit the longest of the three. The `kept` bytes are copied while the wire moves, or after it where
/// moving needs the cores. Over several axes the slowest link counts. Throws Error when an axis has no link.
Price transfer_price(const Transfer& transfer, const Axes& axes, const Hardware& hardware);

/// The price of these parts one after the other: starting and latency, bytes on the link, bytes in this rank's memory.
Price moving_price(Seconds latency, Seconds wire, Seconds local);

}  // namespace shardline::roofline
