#pragma once

#include <vector>

#include "program/plan/flight_rules.h"
#include "program/plan/fusion.h"
#include "program/plan/schedule.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// Which products of a program become collective matmuls: by price, all possible or none, as `options` say. Pure.
/// A fused product adds up panel by panel. So a choice is made once, on the program of one micro-batch before it is
/// cut into stages and without products computed again, and schedule() carries it by name to what is made from it. A
/// product then adds in the same order everywhere.
Fusions choose_fusions(const RankProgram& program, const roofline::Hardware& hardware, const ScheduleOptions& options);

/// The fusions of a computation with each collective that makes an operand or reads its result. Not with collectives
/// that start early or end late, as they have other work to hide behind.
std::vector<Fusion> possible_fusions(const RankProgram& program, const FlightRules& rules, int computation);

}  // namespace shardline
