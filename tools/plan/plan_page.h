#pragma once

#include "tools/plan/plan_answer.h"
#include "tools/report/page.h"

namespace shardline::tools {

/// The page of a plan: its answers; the times of strategies against the batch (the book's figures
/// 15 and 16); and for the step of the best candidate the rooflines, predicted times, timeline and
/// program.
Page plan_page(const PlanAnswer& answer);

}  // namespace shardline::tools
