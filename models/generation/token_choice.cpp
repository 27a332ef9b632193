#include "models/generation/token_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "runtime/base/result_error.h"

namespace shardline {
namespace {

constexpr double kNoScore = -std::numeric_limits<double>::infinity();

/// Throws ResultError if one is not finite.
void require_finite(std::span<const double> logits) {
  double zero = 0;  // stays 0 as long as all are finite
  for (const double logit : logits) zero += logit * 0;
  if (zero == 0) return;
  const auto found = std::find_if(logits.begin(), logits.end(), [](double logit) { return !std::isfinite(logit); });
  throw ResultError(fmt::format("the logit of token {} is {}, of {} tokens; a choice needs finite logits",
                                found - logits.begin(), *found, logits.size()));
}

}  // namespace

void require_legal(const ChoiceOptions& options) {
  const auto finite = [](double value) { return std::isfinite(value); };
  require(finite(options.repetition_penalty) && options.repetition_penalty > 0,
          "repetition_penalty is {}; it must be a number above 0; 1 is none", options.repetition_penalty);
  require(finite(options.temperature) && options.temperature >= 0,
          "temperature is {}; it must be a number of at least 0; 0 takes the likeliest token", options.temperature);
  require(options.top_k >= 0, "top_k is {}; it must be a whole number of at least 0; 0 keeps all tokens",
          options.top_k);
  require(options.top_p > 0 && options.top_p <= 1, "top_p is {}; it must be above 0 and at most 1; 1 keeps all tokens",
          options.top_p);
  require(options.min_p >= 0 && options.min_p < 1, "min_p is {}; it must be at least 0 and below 1; 0 keeps all tokens",
          options.min_p);
  require(options.likeliest >= 0, "likeliest is {}; it must be a whole number of at least 0", options.likeliest);
}

TokenChooser::TokenChooser(const ChoiceOptions& options, Index vocabulary,
                           const std::function<bool(std::int32_t id)>& exists)
    : options_(options) {
  require_legal(options);
  SHARDLINE_CHECK(vocabulary >= 1 && vocabulary <= std::numeric_limits<std::int32_t>::max(), "a vocabulary of {}",
                  vocabulary);
  for (std::int32_t id = 0; id < vocabulary; ++id) {
    if (!exists(id)) missing_.push_back(id);
  }
  SHARDLINE_CHECK(static_cast<Index>(missing_.size()) < vocabulary, "none of {} ids has a token", vocabulary);
  scores_.resize(static_cast<std::size_t>(vocabulary));
  weights_.resize(scores_.size());
}

const TokenChoice& TokenChooser::choose(std::span<const float> logits, std::span<const std::int32_t> so_far,
                                        double uniform) {
  widened_.assign(logits.begin(), logits.end());
  return choose(std::span<const double>(widened_), so_far, uniform);
}

const TokenChoice& TokenChooser::choose(std::span<const double> logits, std::span<const std::int32_t> so_far,
                                        double uniform) {
  SHARDLINE_CHECK(logits.size() == scores_.size(), "{} logits for a vocabulary of {}", logits.size(), scores_.size());
  SHARDLINE_CHECK(uniform >= 0 && uniform < 1, "a uniform number of {}; it must be in [0, 1)", uniform);
  require_finite(logits);
  penalise(logits, so_far);
  const Candidate likeliest = find_likeliest();
  const std::int32_t token = options_.temperature == 0 ? likeliest.id : draw(likeliest, uniform);
  report(logits, token);
  return choice_;
}

/// Sets the scores.
void TokenChooser::penalise(std::span<const double> logits, std::span<const std::int32_t> so_far) {
  std::copy(logits.begin(), logits.end(), scores_.begin());
  const double penalty = options_.repetition_penalty;
  if (penalty != 1) {
    for (const std::int32_t id : so_far) {
      SHARDLINE_CHECK(id >= 0 && id < static_cast<Index>(logits.size()), "token {} for a vocabulary of {}", id,
                      logits.size());
      const auto at = static_cast<std::size_t>(id);
      scores_[at] = logits[at] > 0 ? logits[at] / penalty : logits[at] * penalty;  // of the logit: counts once
      if (std::isfinite(scores_[at])) continue;
      throw ResultError(
          fmt::format("--repetition-penalty {} makes the logit of token {}, {:g}, {}; a penalty nearer to 1 may help",
                      penalty, id, logits[at], scores_[at]));
    }
  }
  for (const std::int32_t id : missing_) scores_[static_cast<std::size_t>(id)] = kNoScore;
}

/// By the scores. Sets the gap.
TokenChooser::Candidate TokenChooser::find_likeliest() {
  Candidate likeliest{.logit = kNoScore, .weight = 1, .id = 0};
  double second = kNoScore;
  for (std::size_t id = 0; id < scores_.size(); ++id) {
    if (scores_[id] > likeliest.logit) {
      second = likeliest.logit;
      likeliest.logit = scores_[id];
      likeliest.id = static_cast<std::int32_t>(id);
    } else {
      second = std::max(second, scores_[id]);
    }
  }
  choice_.gap = likeliest.logit - second;
  return likeliest;
}

double TokenChooser::weight(double score, double most) const { return std::exp((score - most) / options_.temperature); }

/// All tokens that exist, with these logits and no weights.
void TokenChooser::set_candidates(std::span<const double> logits) {
  candidates_.clear();
  candidates_.reserve(scores_.size());
  for (std::size_t id = 0; id < scores_.size(); ++id) {
    if (scores_[id] == kNoScore) continue;
    candidates_.push_back({.logit = logits[id], .weight = 0, .id = static_cast<std::int32_t>(id)});
  }
}

/// The least likely token that top_k and top_p keep. What they keep is it and all that are likelier.
TokenChooser::Candidate TokenChooser::last_kept(double most) {
  const auto tokens = static_cast<Index>(scores_.size() - missing_.size());
  const bool counts = options_.top_k > 0 && options_.top_k < tokens;
  const bool shares = options_.top_p < 1;
  if (!counts && !shares) return {.logit = kNoScore, .weight = 0, .id = std::numeric_limits<std::int32_t>::max()};
  set_candidates(scores_);
  if (counts) {
    const auto last = candidates_.begin() + options_.top_k - 1;
    std::nth_element(candidates_.begin(), last, candidates_.end(), likelier);
    candidates_.erase(last + 1, candidates_.end());
    if (!shares) return candidates_.back();
  }
  for (Candidate& candidate : candidates_) candidate.weight = weight(candidate.logit, most);
  return last_of_share();
}

/// The last candidate that top_p keeps: those before it have less than the share, with it they have it. Halves the
/// candidates between which it may be, so that most are never sorted.
TokenChooser::Candidate TokenChooser::last_of_share() {
  const auto sum = [](auto begin, auto end) {
    double weights = 0;
    for (; begin != end; ++begin) weights += begin->weight;
    return weights;
  };
  auto begin = candidates_.begin();
  auto end = candidates_.end();
  const double wanted = options_.top_p * sum(begin, end);
  double before = 0;  // the weights of all before `begin`
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, likelier);
    const double upper = before + sum(begin, middle);
    if (upper >= wanted) {
      end = middle;
    } else {
      before = upper;
      begin = middle;
    }
  }
  return *begin;
}

std::int32_t TokenChooser::draw(const Candidate& likeliest, double uniform) {
  const Candidate last = last_kept(likeliest.logit);
  double total = 0;
  for (std::size_t id = 0; id < scores_.size(); ++id) {
    const Candidate candidate{.logit = scores_[id], .weight = 0, .id = static_cast<std::int32_t>(id)};
    const double own = likelier(last, candidate) ? 0 : weight(candidate.logit, likeliest.logit);
    weights_[id] = own < options_.min_p ? 0 : own;  // the likeliest has weight 1
    total += weights_[id];
  }
  const double wanted = uniform * total;
  double sum = 0;
  std::int32_t token = likeliest.id;
  for (std::size_t id = 0; id < weights_.size() && sum <= wanted; ++id) {
    sum += weights_[id];
    if (weights_[id] > 0) token = static_cast<std::int32_t>(id);
  }
  return token;
}

/// Sets the tokens of the choice.
void TokenChooser::report(std::span<const double> logits, std::int32_t chosen) {
  choice_.chosen = {.token = chosen};
  choice_.likeliest.clear();
  if (options_.likeliest == 0) return;
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - most);
  const auto likely = [&, log_sum = std::log(sum)](std::int32_t id) -> LikelyToken {
    return {id, (logits[static_cast<std::size_t>(id)] - most) - log_sum};
  };
  choice_.chosen = likely(chosen);
  set_candidates(logits);
  const auto count = std::min<std::ptrdiff_t>(options_.likeliest, std::ssize(candidates_));
  const auto end = candidates_.begin() + count;
  std::partial_sort(candidates_.begin(), end, candidates_.end(), likelier);
  for (auto candidate = candidates_.begin(); candidate != end; ++candidate) {
    choice_.likeliest.push_back(likely(candidate->id));
  }
}

double choice_uniform(std::uint64_t seed, Index sequence, Index position) {
  SHARDLINE_CHECK(sequence >= 0 && position >= 0, "token {} of text {}", position, sequence);
  return CounterRng(seed, fmt::format("choice of text {}", sequence)).uniform(position);
}

}  // namespace shardline
