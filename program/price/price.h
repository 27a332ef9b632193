#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/price/estimate.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// The time on the busiest rank of a program, or of one operation with its conversions.
struct ProgramPrice {
  Seconds math;   ///< computations, and conversions that move nothing between ranks
  Seconds comms;  ///< the busiest link: axes on one resource add, axes on different resources overlap
  Seconds total;  ///< the busiest resource of each operation; operations run one after another
  Seconds sum;    ///< all steps without overlap
  Seconds cores;  ///< all steps: time of the cores for computing and for moving that needs them
  std::map<std::string, Seconds> links;  ///< all steps: time of each link, by resource
  Bytes wire_bytes;                      ///< all conversions, each on the rank that sends most
  Flops flops;                           ///< on the busiest rank
  std::vector<StepEstimate> steps;       ///< in order

  /// What binds the largest share of the longer of math and busiest_link().
  roofline::Limiter limiter = roofline::Limiter::latency;

  Seconds busiest_link() const;
  /// The time of the busiest resource for all steps. No schedule is faster, unless all_reduces travel as one.
  Seconds busiest() const { return std::max(cores, busiest_link()); }
};

/// Prices a program, or its steps from number `first` on. An operation uses the cores, and the links of its conversions
/// and of the debts that it settles. Work on different resources overlaps, work on one resource adds up. Where moving
/// leaves the cores free, an operation takes max(T_math, T_comms) (book section 1.1). Where the ranks move data through
/// the memory of a node, the cores do both and it takes T_math + T_comms. A link that takes a share of the cores adds
/// that share to them.
/// `memo`: see moved(). Throws Error as estimate().
ProgramPrice price(const RankProgram& program, const roofline::Hardware& hardware, std::size_t first = 0,
                   ReshardMemo* memo = nullptr);

/// The same from the estimates of these steps on `hardware`.
ProgramPrice price(const RankProgram& program, std::vector<StepEstimate> estimates, const roofline::Hardware& hardware,
                   std::size_t first = 0);

/// The same of some steps, by number, from the estimates of all steps.
ProgramPrice price_of_steps(const RankProgram& program, const std::vector<int>& steps,
                            const std::vector<StepEstimate>& estimates, const roofline::Hardware& hardware);

/// True if `a` is better: the lower total, then the lower sum. Rounding differences count as ties.
bool cheaper(const ProgramPrice& a, const ProgramPrice& b);

}  // namespace shardline
