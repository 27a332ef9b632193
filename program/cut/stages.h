#pragma once

#include <vector>

#include "program/cut/write_out.h"

namespace shardline {

/// A step on all stages of a pipeline.
struct StagedStep {
  Axis axis;  ///< of the stages
  Index micro_batches = 1;
  const StageEvents& events;  ///< of all stages, proven
};

/// By stage, its program: each written out, and all together checked against the uncut one. Pure. Throws Error as
/// check_stages(), and UsageError as write_out().
std::vector<WrittenOut> write_out_stages(const Cut& cut, const StagedStep& step);

}  // namespace shardline
