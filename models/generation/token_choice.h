#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline {

/// How the next token of a text is chosen. The filters apply in the order of their names here, as in Hugging Face
/// Transformers, each to what the filter before it left. The likeliest token is never filtered out.
struct ChoiceOptions {
  /// Of tokens that the text already has, a positive logit is divided by this and a negative one multiplied, once,
  /// however often the token is there (CTRL, arXiv 1909.05858). 1: none; above 1 makes repetitions rarer.
  double repetition_penalty = 1;
  double temperature = 1;  ///< logits are divided by it; 0: takes the likeliest token, and no filter matters
  Index top_k = 0;         ///< keeps so many of the likeliest tokens; 0: all
  double top_p = 1;        ///< keeps the fewest likeliest tokens whose probabilities add up to this share; 1: all
  double min_p = 0;        ///< keeps tokens with at least this share of the largest probability; 0: all
  Index likeliest = 0;     ///< how many of the likeliest tokens are reported with each choice
};

/// Throws UsageError, one line with the option, its value and what is legal. Legal: a repetition_penalty above 0, a
/// temperature of at least 0, both finite, a top_p in (0, 1], a min_p in [0, 1), counts of at least 0.
void require_legal(const ChoiceOptions& options);

/// A token with its log probability.
struct LikelyToken {
  std::int32_t token = 0;
  double log_probability = 0;  ///< natural logarithm, under the softmax of the logits as they were given

  bool operator==(const LikelyToken&) const = default;
};

/// The next token of a text.
struct TokenChoice {
  LikelyToken chosen;  ///< its log probability is 0 if ChoiceOptions::likeliest is: that of so many ids takes time
  /// How far the largest logit is above the second largest, of ids that exist and after the repetition penalty: a
  /// greedy choice may differ where logits have errors of this size. Infinity if one id exists.
  double gap = 0;
  /// So many as ChoiceOptions::likeliest, of ids that exist, the likeliest first: by the logits as they were given. Of
  /// equal logits the lowest id is first.
  std::vector<LikelyToken> likeliest;
};

/// Chooses tokens, of one text after the other or of many in turn: a choice depends on nothing before it. Takes linear
/// time in the vocabulary, and no memory after the first choice. For one thread at a time.
class TokenChooser {
 public:
  /// `vocabulary`: the number of logits. `exists` is asked once for each id below it; an id without a token, as in rows
  /// that only pad a model, is never chosen. Throws UsageError as require_legal(), and Error if no id exists.
  TokenChooser(const ChoiceOptions& options, Index vocabulary, const std::function<bool(std::int32_t id)>& exists);

  /// The token that follows a text. `logits`: one for each id. `so_far`: the ids of the text with its prompt; only the
  /// repetition penalty reads them. `uniform`: in [0, 1), see choice_uniform(). The draw walks the kept ids upwards
  /// until their probabilities add up to more than it. Of equal logits the lowest id counts as the likelier one. The
  /// log probability of the choice is that of the softmax over all logits as they were given, before penalty,
  /// temperature and filters, also of ids that do not exist. The result is valid until the next call. Throws
  /// ResultError if a logit is not finite, and Error for other illegal arguments.
  const TokenChoice& choose(std::span<const double> logits, std::span<const std::int32_t> so_far, double uniform);
  /// The same for logits in f32; computes in f64.
  const TokenChoice& choose(std::span<const float> logits, std::span<const std::int32_t> so_far, double uniform);

 private:
  struct Candidate {
    double logit;
    double weight;  ///< its probability relative to that of the likeliest
    std::int32_t id;
  };

  static bool likelier(const Candidate& left, const Candidate& right) {
    return left.logit > right.logit || (left.logit == right.logit && left.id < right.id);
  }
  void penalise(std::span<const double> logits, std::span<const std::int32_t> so_far);
  Candidate find_likeliest();
  double weight(double score, double most) const;
  void set_candidates(std::span<const double> logits);
  Candidate last_kept(double most);
  Candidate last_of_share();
  std::int32_t draw(const Candidate& likeliest, double uniform);
  void report(std::span<const double> logits, std::int32_t chosen);

  ChoiceOptions options_;
  std::vector<std::int32_t> missing_;  ///< ids without a token
  std::vector<double> widened_;        ///< logits that came in f32
  std::vector<double> scores_;         ///< logits after the penalty; -infinity for ids without a token
  std::vector<double> weights_;
  std::vector<Candidate> candidates_;
  TokenChoice choice_;
};

/// The uniform number in [0, 1) for the token at `position` of text number `sequence`. It depends on nothing else, so
/// that a text does not depend on which others are made beside it, nor on the mesh. Throws Error for negative numbers.
double choice_uniform(std::uint64_t seed, Index sequence, Index position);

}  // namespace shardline
