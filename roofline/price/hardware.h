#pragma once

#include <array>
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

/// Collectives through shared memory: each rank reads the arrays of the others in place, without messages.
/// Bandwidths are bytes/s that a rank reads from others while all ranks read at once.
struct SharedMemory {
  Seconds latency;        ///< of the flags "data is ready" and "data was read"
  Curve copy;             ///< of data that the others have just written; it is not in this rank's caches
  Curve add;              ///< the same, if this rank adds it to its own data as in reduce_scatter
  Curve copy_again = {};  ///< of data that was read before and did not change; empty: as `copy`
  Curve add_again = {};   ///< the same, if this rank adds it; empty: as `add`
  bool operator==(const SharedMemory&) const = default;
};

/// One torus axis, or the part of it that belongs to a mesh axis.
struct TorusSide {
  Index ranks = 1;
  bool wraps = false;
  bool operator==(const TorusSide&) const = default;
};

/// The links between the ranks of one mesh axis. Each figure is of one message between ring neighbours while
/// all ranks send at once.
struct Link {
  Seconds latency;                ///< of one message
  BytesPerSecond bandwidth;       ///< leaving one rank in one direction
  BytesPerSecond both_ways = {};  ///< leaving one rank in both directions together; used if `two_way`
  bool two_way = false;           ///< data may go round in both directions: the axis wraps and has more than two ranks
  bool frees_cores = true;        ///< cores can compute while data moves: true for networks, not within a node
  double core_share = 0;          ///< if frees_cores: the share of a computing core that moving still takes
  bool switched = true;  ///< true: any rank reaches any other directly; false: messages go from neighbour to neighbour
  std::string resource = {};  ///< name of the shared wire; axes with the same name take turns; empty: not shared
  /// The torus axes under a mesh axis. Their links have these figures. Empty: one torus axis of the same
  /// length.
  std::vector<TorusSide> sides = {};

  /// Bandwidth out of one rank, over all torus axes and all directions that a collective may use.
  BytesPerSecond all_ways() const;
  std::optional<SharedMemory> shared = {};  ///< for collectives, if the ranks share memory
};

/// How to compute the time of a collective by messages from its messages and bytes.
enum class CostMode : std::uint8_t {
  exact,  ///< the bytes that leave a rank: V (p - 1) / p if p ranks gather V; latency and bandwidth add
  /// The book's limit of large rings (book section 3.2). An axis that wraps or is switched moves V bytes. A
  /// line moves the exact bytes. The longer of latency and bandwidth counts.
  book_limit,
};

/// The rates of one rank while all ranks are busy, for one element type. A rate without a curve holds for all
/// sizes.
struct Hardware {
  std::string name = {};
  FlopsPerSecond matmul;            ///< the best rate of matrix products
  BytesPerSecond memory;            ///< of data beyond the caches; every byte read or written counts once
  Seconds overhead;                 ///< of the start of any operation
  std::map<Axis, Link> links = {};  ///< by mesh axis; axes of size 1 have none
  GemmRates gemm = {};              ///< matrix products by extents, with operands in the caches
  /// Used without `gemm`. True: products copy blocks of their operands and then multiply them, as a BLAS does,
  /// so the times of memory and arithmetic add. False: the longer of the two counts, as on chips that load data
  /// ahead.
  bool products_copy = false;
  std::map<std::string, FlopsPerSecond> kernels = {};  ///< rates of other kernels on data in the caches, by name
  std::map<std::string, Seconds> latencies = {};       ///< to start each part of a call of other kernels, by name
  Curve caches = {};  ///< memory bandwidth by bytes touched since the last use of the data
  /// True: collectives advance only if a rank polls them between panels of its products, as with MPI.
  bool polled = true;
  double panels = 0.95;  ///< the share of its speed that a product keeps in panels (see panel_cost)
  collectives::Tuning tuning = collectives::Tuning::built_in();  ///< decides the algorithms of collectives
  /// The wire over which partial sums in bf16 are reduced.
  collectives::Wire bf16_wire = collectives::Wire::exchange;
  CostMode cost_mode = CostMode::exact;  ///< of collectives by messages; shared memory has one mode only

  /// The link of an axis. Throws Error if it has none.
  const Link& link(const Axis& axis) const;
  /// The rate of matrix products of these extents.
  FlopsPerSecond gemm_rate(Index m, Index n, Index k) const;
  /// Memory bandwidth for data whose last use was `reach` bytes ago.
  BytesPerSecond memory_rate(Bytes reach) const;
};

/// What binds an operation.
enum class Limiter : std::uint8_t { compute, memory, link, latency };

std::string_view name_of(Limiter limiter);

/// A predicted time, its limiter, and the times of its parts.
struct Price {
  Seconds time;
  Limiter limiter = Limiter::latency;
  Seconds math = {};    ///< FLOPs over the rate of the operation
  Seconds memory = {};  ///< bytes over memory bandwidth
  Seconds comms = {};   ///< between ranks: latency and bytes over the link
};

/// An array that a kernel reads or writes.
struct Touch {
  Bytes bytes;
  Bytes reach;  ///< bytes touched since its last use; a smaller cache no longer holds the array
};

/// One kernel call to be priced.
struct Work {
  kernels::Cost cost;
  std::string_view kernel = {};  ///< a machine may have a rate for this name
  /// Extents of its matrix products; 0 for other kernels.
  Index m = 0, n = 0, k = 0;
  /// The arrays that hold the bytes of `cost`. Empty: the caches must hold all bytes of the call.
  std::vector<Touch> touches = {};
};

/// The name of matrix products in `Hardware::latencies`.
inline constexpr std::string_view kMatrixProduct = "matrix_product";
/// The name in `Hardware::kernels` of products with so few rows that reading the matrix takes most of their time. They
/// copy nothing, and start as other products do. The rows of a turned one are multiplied with rows of the matrix.
inline constexpr std::string_view kThinProduct = "thin_product", kTurnedThinProduct = "turned_thin_product";
constexpr bool is_thin_product(std::string_view kernel) {
  return kernel == kThinProduct || kernel == kTurnedThinProduct;
}
/// Attention of queries over a cache, whose price goes by rows too.
inline constexpr std::string_view kCacheAttention = "cache_attention";
/// Kernels with `Cost::rows` of so many rows have rates of their own for what comes from beyond the caches: a core
/// reads it, or multiplies, or does both at once, as well as its kernels can.
inline constexpr std::array<Index, 4> kRowsFromMemory = {1, 4, 8, 16};
/// The name of such a rate in `Hardware::kernels`: "thin_product_8".
std::string from_memory(std::string_view kernel, Index rows);

/// Roofline of one kernel call (book section 1): the larger of FLOPs over rate and bytes over bandwidth, plus
/// the overhead of an operation and the latency of the kernel times its parts. The rate is that
/// of products of these extents or, for other kernels, that of `Hardware::kernels`. A product also takes the extra time
/// to load its operands, compared with the measurement of its rate. With `Hardware::products_copy` it takes the whole
/// time to load them.
Price kernel_price(const Work& work, const Hardware& hardware);

/// The messages and bytes of a collective by messages. They give its price.
struct MessageWork {
  double messages = 0;  ///< one after the other
  Bytes wire = {};      ///< leaving the busiest rank in its busiest direction
  Bytes local = {};     ///< read and written in this rank's memory, before or after the wire: packing, adding
  Bytes kept = {};      ///< read and written in this rank's memory while the wire moves, if links free the cores
  Bytes reach = {};     ///< touched since the last use of the operand
};

/// Messages times latency, plus wire bytes over bandwidth, plus local bytes over memory bandwidth (book section
/// 3.2). The book's limit takes the longest of the three. The `kept` bytes are copied while the wire moves, or
/// after it if moving needs the cores. The slowest of several axes counts. Throws Error if an axis has no link.
Price message_price(const MessageWork& work, const Axes& axes, const Hardware& hardware);

/// The price of three parts one after the other: start and latency, bytes on the link, bytes in this rank's
/// memory.
Price moving_price(Seconds latency, Seconds wire, Seconds local);

}  // namespace shardline::roofline
