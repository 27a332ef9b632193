#pragma once

#include <string>
#include <vector>

#include "models/architecture/accounting.h"
#include "tools/plan/plan_question.h"

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
  /// Of training on all chips at the given utilisation; with attention counted or without.
  Seconds training_time(bool with_attention) const;
  /// Of a batch as they are usually counted; with attention or without.
  Flops step_flops(bool with_attention) const;
  /// Of training with attention counted, in the currency of a chip's hour; 0 when that is not known.
  double cost() const;
};

/// Everything about a plan. Throws UsageError as question_of(), and where no strategy can split the batch.
PlanAnswer answer_of(const PlanOptions& options);

/// What the command prints.
std::string plan_text(const PlanAnswer& answer);
/// What --json has.
Json plan_record(const PlanAnswer& answer);

/// "2048 x 4"
std::string dims_text(const roofline::MixedMesh& mesh);
/// Which passes a closed form counts, in words.
std::string passes_text(roofline::CountedPasses passes);
/// How a candidate's mesh lies: "{X:2048, Y:4} on 64x32 and 4".
std::string laid_text(const PlanCandidate& candidate);

}  // namespace shardline::tools
