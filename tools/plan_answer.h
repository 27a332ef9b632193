#pragma once

#include <string>
#include <vector>

#include "models/accounting.h"
#include "tools/plan_question.h"

namespace shardline::tools {

/// Everything that a plan says, computed; printed by plan_text(), recorded by plan_record().
struct PlanAnswer {
  PlanOptions options;
  PlanQuestion question;
  ParameterParts parameters;
  TokenFlops token_flops;
  std::vector<StrategyAnswer> strategies;  ///< closed form, forward and backward pass
  std::vector<MixedAnswer> mixed;          ///< forward pass; with the backward pass, kept; the same, regathered
  std::vector<PlanCandidate> candidates;   ///< the priced step, best first

  Index all_chips() const { return question.chips * options.pods; }
  /// Seconds of training on all chips at the given utilisation; with attention counted or without.
  Seconds training_time(bool with_attention) const;
  Flops step_flops(bool with_attention) const;
};

/// Throws UsageError as question_of(), and where no strategy can split the batch.
PlanAnswer answer_of(const PlanOptions& options);

std::string plan_text(const PlanAnswer& answer);
Json plan_record(const PlanAnswer& answer);

/// "2048 x 4"
std::string dims_text(const roofline::MixedMesh& mesh);
/// Which passes a closed form counts, in words.
std::string passes_text(roofline::CountedPasses passes);
/// How a candidate's mesh lies: "{X:2048, Y:4} on 64x32 and 4".
std::string laid_text(const PlanCandidate& candidate);

}  // namespace shardline::tools
