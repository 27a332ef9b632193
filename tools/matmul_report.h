#pragma once

#include <string>
#include <vector>

#include "program/estimate.h"
#include "program/multiply.h"
#include "tools/dense_check.h"
#include "tools/job.h"

namespace shardline::tools {

/// What a program takes by its prices: arithmetic and communication perfectly overlapped, not at all, and as it is
/// scheduled. The executor runs one step after the other.
struct PredictedTime {
  Seconds lower;
  Seconds upper;
  Seconds scheduled;
};

PredictedTime predicted_time(const RankProgram& program, const std::vector<StepEstimate>& estimates);

/// A candidate with the prices of its steps.
struct PricedCandidate {
  RankProgram program;
  std::vector<StepEstimate> estimates;
};

/// Everything that `shardline matmul` has to tell.
struct MatmulRecord {
  const Product* product = nullptr;
  std::vector<PricedCandidate> candidates{};
  Index chosen = 1;  ///< counted from 1
  std::vector<TimedStep> steps{};
  std::vector<Seconds> runs{};  ///< each run, on the slowest rank
  Accuracy accuracy{};
  double tolerance = 0;

  const PricedCandidate& candidate() const { return candidates[static_cast<std::size_t>(chosen - 1)]; }
  bool correct() const { return accuracy.relative() <= tolerance; }
};

/// What is known before the run: product, cases, derived program.
std::string derivation_text(const MatmulRecord& record, DType dtype);
/// Operations measured beside predicted, the whole, and whether the result is right.
std::string result_text(const MatmulRecord& record);
/// Adds the keys of a matmul record.
void add_keys(Json& json, const MatmulRecord& record);

}  // namespace shardline::tools
