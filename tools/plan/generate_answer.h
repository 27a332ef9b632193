#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/plan/generate_derived.h"
#include "tools/plan/generate_question.h"
#include "tools/report/plot.h"

namespace shardline::tools {

/// A slice with as many caches as it holds, weights and caches both in one type (book section 8.1.1).
struct SliceAnswer {
  StoredType type;
  Bytes weights;
  Bytes room;           ///< for caches
  double critical = 0;  ///< batch
  FrontierPoint point;
  double queries_per_chip = 0;
};

/// All results of `plan --generate`. generate_text() prints them, generate_record() records them.
struct GenerateAnswer {
  PlanOptions options;
  GenerateQuestion question;
  double parameters = 0;       ///< all weights
  double critical = 0;         ///< the batch from which on FLOPs bind
  std::optional<double> most;  ///< sequences that fit; none if the memory is not known
  Index least_chips = 1;       ///< that hold the batch; 1 if the memory is not known
  FrontierPoint decode;        ///< the batch on the chips of a server
  PrefillTime prefill;         ///< of one prompt on as many chips
  /// Of each type the smallest slice and its double; none if the memory is unknown. Of several chips only with
  /// links.
  std::vector<SliceAnswer> slices;
  DerivedAnswer derived;    ///< the same server by derived programs
  Index largest_batch = 0;  ///< that `frontier` and `within` look at
  std::vector<FrontierPoint> frontier;
  std::optional<FrontierPoint> within;            ///< the most tokens within --step-limit, if it is given
  std::optional<double> least_chips_of_two_axes;  ///< from which 2D moves an MLP faster

  /// Servers that prefill for each that generates, with or without attention in the prompt.
  double servers(bool with_attention) const;
  double queries_per_chip() const;
  double evicted() const;
  /// Of a million new tokens, by decode alone; of a million prompt tokens.
  double cost_of_new() const;
  double cost_of_prompt() const;
};

/// Throws as generate_question_of().
GenerateAnswer generate_answer_of(const PlanOptions& options);

/// The text that the command prints.
std::string generate_text(const GenerateAnswer& answer);
/// The content of --json.
Json generate_record(const GenerateAnswer& answer);
/// Latency of a step against throughput of a chip, a curve for each number of chips (book section 7.1.7).
Plot generate_plot(const GenerateAnswer& answer);

}  // namespace shardline::tools
