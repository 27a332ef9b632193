#pragma once

#include <string>
#include <vector>

#include "models/strategy/strategies.h"
#include "models/training/training.h"
#include "program/run/measure.h"
#include "roofline/price/hardware.h"
#include "tools/job.h"

namespace shardline::tools {

/// How products of arrays in bf16 run in this process: by which library, and in which type.
const char* bf16_products();

/// Describes a training run before it starts: mesh, model, where its samples come from, and the measured figures of the
/// machine.
std::string describe_training(const Job& job, const TrainingRun& run, const std::string& samples,
                              const roofline::Hardware& hardware);

/// "matmul 98.1 GFLOP/s, memory 12.0 GB/s; X: 1.50 us + 4.00 GB/s", all per rank.
std::string describe(const roofline::Hardware& hardware);

/// One line: how much of the communication was hidden. If moving needs the cores: that overlap
/// could win nothing.
std::string overlap_text(const Overlap& overlap, bool needs_the_cores);
Json overlap_json(const Overlap& overlap);

/// The `operations` of a record, one object per kind and axis.
Json kinds_json(const std::vector<KindSummary>& kinds);

}  // namespace shardline::tools
