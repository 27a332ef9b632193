#pragma once

#include <vector>

#include "program/plan/compiled.h"
#include "runtime/layout/tensor.h"

namespace shardline {

/// A result of a step on one rank.
struct PreparedResult {
  Tensor* value = nullptr;  ///< where the executor keeps it
  Tensor* takes = nullptr;  ///< an operand whose memory it takes, or null
  Index place = -1;         ///< its offset in the arena, in bytes; -1: it has none
  DType dtype = DType::f32;
  Shape shape;  ///< local
};

/// What a rank needs of a step in every run. It is found once, so that a run searches and derives nothing.
struct PreparedStep {
  std::vector<PreparedResult> made;
  // Of a computation:
  std::vector<const Tensor*> operands;
  std::vector<Tensor*> results;
  std::vector<Range> ranges;  ///< where this rank's block lies, by index of the operation
};

/// The steps of a program on `rank`, whose versions are kept in `values`. These must stay where they are.
std::vector<PreparedStep> prepare_steps(const Compiled& compiled, Index rank, std::vector<Tensor>& values);

}  // namespace shardline
