#pragma once

#include <string>
#include <vector>

#include "roofline/price/hardware.h"
#include "tools/report/operation_row.h"

namespace shardline::tools {

/// Where a row has its dot.
enum class DotPlace : unsigned char {
  compute,  ///< in the roofline of computation
  moving,   ///< in that of what moves: it communicates, or does no arithmetic
  none,     ///< nowhere: it took no time, or touches nothing
};
DotPlace place_of(const OperationRow& row);

/// Rooflines (book section 1), a dot for each row that has its place there. A ring, joined to the dot, is where it was
/// predicted. Dots that take most time have their names, others their numbers.
///
/// Of computation: FLOP/s against FLOPs per byte touched. The ceilings are the rate of matrix products and, sloping,
/// the bandwidth of memory and of caches.
std::string roofline_svg(const std::vector<OperationRow>& rows, const roofline::Hardware& hardware);

/// Of what moves: bytes per second against bytes of one call, on the wire where it communicates, otherwise in memory.
/// The ceilings are the bandwidth of each axis' link and of memory and, sloping, the latency of one step or of starting
/// an operation.
std::string moving_svg(const std::vector<OperationRow>& rows, const roofline::Hardware& hardware);

}  // namespace shardline::tools
