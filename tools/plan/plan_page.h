#pragma once

#include "tools/plan/plan_answer.h"
#include "tools/report/page.h"

namespace shardline::tools {

/// The page of a plan: its answers, the times of strategies against the batch (the book's figures 15 and 16), and of
/// the best candidate's step the rooflines, the predicted times, the timeline and the program.
Page plan_page(const PlanAnswer& answer);

}  // namespace shardline::tools
