#pragma once

#include "tools/plan/generate_answer.h"
#include "tools/report/page.h"

namespace shardline::tools {

/// The page of `plan --generate`: the text; the frontier of latency and throughput (the book's figure 20 and section
/// 8.2); and what a step takes against the batch, split into parameters, caches, FLOPs and links.
Page generate_page(const GenerateAnswer& answer);

}  // namespace shardline::tools
