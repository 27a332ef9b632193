#pragma once

#include <string>
#include <vector>

#include "roofline/price/hardware.h"
#include "tools/report/operation_row.h"

namespace shardline::tools {

/// The figure in which a row has its dot.
enum class DotPlace : unsigned char {
  compute,  ///< the roofline of computation
  moving,   ///< the roofline of moving: it communicates, or does no arithmetic
  none,     ///< no figure: it took no time, or touches nothing
};
DotPlace place_of(const OperationRow& row);

/// Rooflines (book section 1), with a dot for each row that belongs there. A ring, joined to the
/// dot, marks the prediction. The slowest dots have names, the others numbers.
///
/// Computation: FLOP/s against FLOPs per byte touched. The ceilings are the rate of matrix products
/// and, as slopes, the bandwidth of memory and of caches.
std::string roofline_svg(const std::vector<OperationRow>& rows, const roofline::Hardware& hardware);

/// Moving data: bytes per second against bytes per call, on the wire if it communicates, else in
/// memory. The ceilings are the bandwidth of each axis's link and of memory and, as slopes, the
/// latency of one step or the cost to start an operation.
std::string moving_svg(const std::vector<OperationRow>& rows, const roofline::Hardware& hardware);

}  // namespace shardline::tools
