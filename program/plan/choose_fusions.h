#pragma once

#include <vector>

#include "program/plan/flight_rules.h"
#include "program/plan/fusion.h"
#include "program/plan/schedule.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// Which products of a program become collective matmuls, and which computations become rings: by price, all possible
/// or none, as `options` say. Pure. A fused product adds up panel by panel, and a ring block by block. So a choice is
/// made once, on the program of one micro-batch before it is cut into stages and without products computed again, and
/// schedule() carries it by name to what is made from it. A product then adds in the same order everywhere.
Fusions choose_fusions(const RankProgram& program, const roofline::Hardware& hardware, const ScheduleOptions& options);

/// The collective matmuls whose first product is `computation`: with each collective that makes an operand or reads its
/// result. Not with collectives that start early or end late, as they have other work to hide behind.
std::vector<FusionGroup> possible_fusions(const RankProgram& program, const FlightRules& rules, int computation);

}  // namespace shardline
