#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/architecture/accounting.h"
#include "models/planning/attention_share.h"
#include "tools/plan/plan_question.h"

namespace shardline::tools {

/// All results of a plan. plan_text() prints them, plan_record() records them.
struct PlanAnswer {
  PlanOptions options;
  PlanQuestion question;
  ParameterParts parameters;
  ParameterParts active;  ///< that a token passes
  TokenFlops token_flops;
  std::vector<StrategyAnswer> strategies;  ///< closed form, forward and backward pass
  std::vector<MixedAnswer> mixed;          ///< forward pass; with the backward pass, kept; the same, regathered
  std::optional<ExpertsAnswer> experts;    ///< none without experts
  std::string left_out;                    ///< why no step is priced: parts that no program has; empty: it is
  std::vector<PlanCandidate> candidates;   ///< the priced step, best first; none if it is left out
  EqualSequences equal;                    ///< of a layer of the model, if a step is priced

  Index all_chips() const { return question.chips * options.pods; }
  /// The time of training on all chips at the given utilisation, with or without attention.
  Seconds training_time(bool with_attention) const;
  /// The FLOPs of a batch in the usual count, with or without attention.
  Flops step_flops(bool with_attention) const;
  /// The cost of training, attention counted, in the currency of a chip's hour; 0 if that is not
  /// known.
  double cost() const;
};

/// Computes a plan. Throws UsageError as question_of(), for options of a step that is not priced, and if no strategy
/// can split the batch: then it says which mesh also splits sequences.
PlanAnswer answer_of(const PlanOptions& options);

/// The text that the command prints.
std::string plan_text(const PlanAnswer& answer);
/// The content of --json.
Json plan_record(const PlanAnswer& answer);

/// "2048 x 4"
std::string dims_text(const roofline::MixedMesh& mesh);
/// The passes that a closed form counts, in words.
std::string passes_text(roofline::CountedPasses passes);
/// "yes" or "no"; "?" if the memory is not known.
std::string fits_text(const PlanCandidate& candidate);
/// How a candidate's step is computed: "whole", "of 4" micro-batches, "1f1b of 32"; then what stays, if not all:
/// "whole, stream".
std::string form_text(const PlannedForm& form);
/// A mesh on its torus: "{X:2048, Y:4} on 64x32, 4".
std::string laid_text(const AbstractMesh& mesh, const roofline::TorusLayout& layout);

}  // namespace shardline::tools
