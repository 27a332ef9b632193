#pragma once

#include <vector>

#include "program/plan/compiled.h"
#include "runtime/layout/tensor.h"

namespace shardline {

/// A result of a step on one rank.
struct PreparedResult {
  Tensor* value = nullptr;  ///< the executor's place for it
  Tensor* takes = nullptr;  ///< an operand whose memory it takes, or null
  Index place = -1;         ///< byte offset in the arena, or -1
  DType dtype = DType::f32;
  Shape shape;  ///< local
};

/// The data that a rank needs for a step in every run. It is derived once, so a run does no search.
struct PreparedStep {
  std::vector<PreparedResult> made;
  // Of a computation:
  std::vector<const Tensor*> operands;
  std::vector<Tensor*> results;
  std::vector<Range> ranges;  ///< this rank's block, by index of the operation
};

/// The steps of a program on `rank`. `values` holds the versions, and must not move.
std::vector<PreparedStep> prepare_steps(const Compiled& compiled, Index rank, std::vector<Tensor>& values);

}  // namespace shardline
