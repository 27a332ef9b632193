// Choices are compared with a reference that sorts all tokens, and makes probabilities anew after each filter.
#include "models/generation/token_choice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "runtime/base/counter_rng.h"
#include "tests/models/generation/choices.h"

namespace shardline {
namespace {

/// The ids that are drawn for some number of a fine grid.
std::set<std::int32_t> drawn(const ChoiceOptions& options, const Logits& logits, const Exists& exists = all_exist) {
  constexpr int kGrid = 1000;
  TokenChooser chooser = chooser_of(options, logits, exists);
  std::set<std::int32_t> ids;
  for (int i = 0; i < kGrid; ++i) ids.insert(chooser.choose(logits, {}, (i + 0.5) / kGrid).chosen.token);
  return ids;
}

/// A token of the reference: (-logit, id), so that the likeliest is first.
using Sorted = std::vector<std::pair<double, std::int32_t>>;

std::vector<double> probabilities(const Sorted& tokens) {
  std::vector<double> all;
  double sum = 0;
  for (const auto& token : tokens) all.push_back(std::exp(tokens[0].first - token.first));
  for (const double each : all) sum += each;
  for (double& each : all) each /= sum;
  return all;
}

/// The probabilities with which tokens should be drawn, by id; only tokens that may be drawn.
std::map<std::int32_t, double> expected(const ChoiceOptions& options, Logits logits, const Ids& so_far = {},
                                        const Exists& exists = all_exist) {
  const std::set<std::int32_t> seen(so_far.begin(), so_far.end());
  Sorted tokens;
  for (std::int32_t id = 0; id < std::ssize(logits); ++id) {
    double& logit = logits[static_cast<std::size_t>(id)];
    if (seen.count(id) != 0) {
      logit = logit < 0 ? logit * options.repetition_penalty : logit / options.repetition_penalty;
    }
    if (exists(id)) tokens.emplace_back(-logit / options.temperature, id);
  }
  std::sort(tokens.begin(), tokens.end());
  if (options.top_k > 0) {
    while (static_cast<Index>(tokens.size()) > options.top_k) tokens.pop_back();
  }
  std::vector<double> shares = probabilities(tokens);
  if (options.top_p < 1) {
    std::size_t kept = 0;
    for (double sum = 0; kept < shares.size() && sum < options.top_p; ++kept) sum += shares[kept];
    tokens.resize(kept);
    shares = probabilities(tokens);
  }
  while (shares.back() < shares[0] * options.min_p) {
    tokens.pop_back();
    shares.pop_back();
  }
  shares = probabilities(tokens);
  std::map<std::int32_t, double> result;
  for (std::size_t i = 0; i < tokens.size(); ++i) result[tokens[i].second] = shares[i];
  return result;
}

/// Draws in the middle of the interval of every token, or of some of them: so each has the probability and the place
/// that it should have.
template <class T>
void expect_intervals(TokenChooser& chooser, const std::vector<T>& logits, const Ids& so_far,
                      const std::map<std::int32_t, double>& shares, const std::string& what) {
  const std::size_t stride = 1 + shares.size() / 25;
  std::size_t place = 0;
  double sum = 0;
  for (const auto& [id, share] : shares) {
    const double middle = sum + share / 2;
    sum += share;
    if (place++ % stride != 0 || share < 1e-10) continue;  // of smaller ones rounding decides
    const std::int32_t token = chooser.choose(std::span<const T>(logits), so_far, middle).chosen.token;
    ASSERT_EQ(token, id) << what << ", uniform " << middle;
  }
}

ChoiceOptions drawn_options(const CounterRng& rng, Index first) {
  const auto coin = [&](Index i) { return rng.below(first + i, 2) == 1; };
  ChoiceOptions options;
  if (coin(0)) options.temperature = 0.2 + 2 * rng.uniform(first + 1);
  if (coin(2)) options.top_k = 1 + rng.below(first + 3, 50);
  if (coin(4)) options.top_p = 1 - rng.uniform(first + 5);
  if (coin(6)) options.min_p = rng.uniform(first + 7) * rng.uniform(first + 8);
  if (coin(9)) options.repetition_penalty = 0.5 + 2 * rng.uniform(first + 10);
  return options;
}

TEST(TokenChoice, DrawsWhatAFullSortSays) {
  for (std::uint64_t job = 0; job < 400; ++job) {
    const CounterRng rng(job, "choices");
    const ChoiceOptions options = drawn_options(rng, 0);
    Logits logits(static_cast<std::size_t>(1 + rng.below(20, 60)));
    for (std::size_t id = 0; id < logits.size(); ++id) {
      const double logit = 3 * rng.normal(100 + static_cast<Index>(id));
      logits[id] = job % 2 == 0 ? logit : std::round(logit);  // with ties
    }
    Ids so_far;
    for (Index i = 0; i < rng.below(21, 30); ++i) {
      so_far.push_back(static_cast<std::int32_t>(rng.below(200 + i, std::ssize(logits))));
    }
    const Exists exists = [&](std::int32_t id) { return id == 0 || rng.below(300 + id, 8) != 0; };
    TokenChooser chooser = chooser_of(options, logits, exists);
    expect_intervals(chooser, logits, so_far, expected(options, logits, so_far, exists), fmt::format("job {}", job));
  }
}

TEST(TokenChoice, DrawsTheSameOfALargeVocabulary) {
  constexpr std::size_t kTokens = 128256;
  constexpr std::int32_t kMade = 128011;  // the rest pads
  const CounterRng rng(5, "large");
  std::vector<float> logits(kTokens);
  for (std::size_t id = 0; id < kTokens; ++id)
    logits[id] = static_cast<float>(1.5 * rng.normal(static_cast<Index>(id)));
  logits[kTokens - 1] = 100;
  const Logits wide(logits.begin(), logits.end());
  const Exists exists = [](std::int32_t id) { return id < kMade; };
  for (const ChoiceOptions& options :
       {ChoiceOptions{}, ChoiceOptions{.top_k = 50}, ChoiceOptions{.temperature = 0.7, .top_p = 0.3},
        ChoiceOptions{.temperature = 2, .top_p = 0.9}, ChoiceOptions{.min_p = 0.05},
        ChoiceOptions{.temperature = 1.5, .top_k = 3000, .top_p = 0.9, .min_p = 0.001}}) {
    TokenChooser chooser(options, kTokens, exists);
    const std::map<std::int32_t, double> shares = expected(options, wide, {}, exists);
    EXPECT_GT(shares.size(), 40U);
    expect_intervals(chooser, logits, {}, shares, fmt::format("top_k {}, top_p {}", options.top_k, options.top_p));
  }
}

/// Pearson's test, with fixed seeds. 99.9% of right samples are below the limit.
TEST(TokenChoice, DrawsAsOftenAsItsProbabilitySays) {
  constexpr Index kDraws = 100000;
  constexpr double kLimit = 24.32;  // of chi-square with 7 degrees of freedom
  const Logits logits{0.3, -1, 2, 1.5, 0, -0.2, 1, 0.9, -4, 1.1, 1.2, -3};
  const ChoiceOptions options{.temperature = 0.8, .top_k = 10, .top_p = 0.97};
  const std::map<std::int32_t, double> shares = expected(options, logits);
  ASSERT_EQ(shares.size(), 8U);
  TokenChooser chooser = chooser_of(options, logits);
  std::map<std::int32_t, double> counts;
  for (Index i = 0; i < kDraws; ++i) {
    counts[chooser.choose(logits, {}, choice_uniform(3, i % 100, i / 100)).chosen.token] += 1;
  }
  double distance = 0;
  for (const auto& [id, share] : shares) {
    const double wanted = share * kDraws;
    distance += (counts[id] - wanted) * (counts[id] - wanted) / wanted;
  }
  EXPECT_EQ(counts.size(), shares.size());
  EXPECT_LT(distance, kLimit);
}

TEST(TokenChoice, GreedyTakesTheLargestAndOfEqualOnesTheLowestId) {
  const ChoiceOptions greedy{.temperature = 0};
  const TokenChoice choice = chosen(greedy, {1, 3, -2, 2.5}, 0.9);
  EXPECT_EQ(choice.chosen.token, 1);
  EXPECT_EQ(choice.gap, 0.5);
  EXPECT_EQ(chosen(greedy, {1, 3, 3, 3}, 0.9).chosen.token, 1);
  EXPECT_EQ(chosen(greedy, {1, 3, 3, 3}, 0.9).gap, 0);
  EXPECT_EQ(chosen(greedy, {-5}, 0).chosen.token, 0);
  EXPECT_EQ(chosen(greedy, {-5}, 0).gap, std::numeric_limits<double>::infinity());
  const ChoiceOptions all{.temperature = 0, .top_k = 1, .top_p = 0.01, .min_p = 0.9};
  EXPECT_EQ(chosen(all, {1, 3, 3, 3}, 0.9).chosen.token, 1);
}

TEST(TokenChoice, FiltersKeepTheLowestIdsOfEqualLogits) {
  const Logits equal{1, 1, 1, 1};
  using Set = std::set<std::int32_t>;
  EXPECT_EQ(drawn({}, equal), (Set{0, 1, 2, 3}));
  EXPECT_EQ(drawn({.top_k = 1}, equal), (Set{0}));
  EXPECT_EQ(drawn({.top_k = 3}, equal), (Set{0, 1, 2}));
  EXPECT_EQ(drawn({.top_p = 0.5}, equal), (Set{0, 1}));
  EXPECT_EQ(drawn({.top_p = 0.5000001}, equal), (Set{0, 1, 2}));
  EXPECT_EQ(drawn({.min_p = 0.99}, equal), (Set{0, 1, 2, 3}));
  EXPECT_EQ(drawn({.top_k = 2, .top_p = 0.75}, equal), (Set{0, 1}));  // of the two that top_k left
  EXPECT_EQ(drawn({.top_k = 2, .top_p = 0.5}, equal), (Set{0}));
}

TEST(TokenChoice, AtTheEndsOfWhatIsLegal) {
  const Logits logits{0, 2, 1};
  using Set = std::set<std::int32_t>;
  EXPECT_EQ(drawn({.top_k = 1000000}, logits), (Set{0, 1, 2}));
  for (const Index top_k : {3, 4, 5}) EXPECT_EQ(drawn({.top_k = top_k}, logits), (Set{0, 1, 2}));
  EXPECT_EQ(drawn({.top_p = 1e-300}, logits), (Set{1}));
  EXPECT_EQ(drawn({.temperature = 1e-300}, logits), (Set{1}));
  EXPECT_EQ(drawn({.temperature = 1e300}, logits), (Set{0, 1, 2}));
  EXPECT_EQ(chosen({}, logits, 0).chosen.token, 0);
  EXPECT_EQ(chosen({}, logits, 1 - 0x1.0p-53).chosen.token, 2);
  EXPECT_EQ(chosen({}, {-2000, 0, -2000}, 0).chosen.token, 1);  // a probability of 0 is never drawn
  EXPECT_EQ(chosen({}, {-2000, 0, -2000}, 1 - 0x1.0p-53).chosen.token, 1);
  EXPECT_EQ(drawn({}, {1e308, 1e308, -1e308}), (Set{0, 1}));
  EXPECT_EQ(drawn({.top_p = 0.9}, {1e308, 1e308, -1e308}), (Set{0, 1}));
}

TEST(TokenChoice, NeverChoosesIdsWithoutAToken) {
  const Exists odd = [](std::int32_t id) { return id % 2 == 1; };
  const Logits logits{9, 1, 9, 2, 9};
  using Set = std::set<std::int32_t>;
  EXPECT_EQ(drawn({}, logits, odd), (Set{1, 3}));
  EXPECT_EQ(drawn({.top_k = 1}, logits, odd), (Set{3}));
  EXPECT_EQ(drawn({.top_p = 0.999}, logits, odd), (Set{1, 3}));
  const TokenChoice choice = chosen({.temperature = 0, .likeliest = 9}, logits, 0, {}, odd);
  EXPECT_EQ(choice.chosen.token, 3);
  EXPECT_EQ(choice.gap, 1);
  ASSERT_EQ(choice.likeliest.size(), 2U);
  EXPECT_EQ(choice.likeliest[0].token, 3);
  EXPECT_EQ(choice.likeliest[1].token, 1);
}

TEST(TokenChoice, PenaltyMakesEachTokenOfTheTextRarerOnce) {
  const ChoiceOptions options{.repetition_penalty = 2, .temperature = 0, .likeliest = 4};
  const Logits logits{4, 3, -1, 0};
  // 4 -> 2, -1 -> -2, 0 -> 0
  const TokenChoice choice = chosen(options, logits, 0, {0, 2, 3, 0, 0});
  EXPECT_EQ(choice.chosen.token, 1);
  EXPECT_EQ(choice.gap, 1);                 // 3 - 2: had it counted three times, 3 - 0.5
  EXPECT_EQ(choice.likeliest[0].token, 0);  // by the logits as they were given
  EXPECT_EQ(choice.likeliest[1], choice.chosen);
  EXPECT_EQ(chosen(options, logits, 0, {}).chosen.token, 0);
  EXPECT_EQ(chosen(options, {-4, -3}, 0, {1}).chosen.token, 0);  // -3 -> -6
  const ChoiceOptions half{.repetition_penalty = 0.5, .temperature = 0};
  EXPECT_EQ(chosen(half, {4, 3}, 0, {1}).gap, 2);  // 3 -> 6
  // The text of one choice has no effect on the next.
  TokenChooser chooser = chooser_of(options, logits);
  EXPECT_EQ(chooser.choose(logits, Ids{0}, 0).chosen.token, 1);
  EXPECT_EQ(chooser.choose(logits, Ids{}, 0).chosen.token, 0);
}

/// A text of eight tokens. Its logits come from its number and the tokens so far.
Ids text_of(TokenChooser& chooser, std::uint64_t seed, Index sequence, Ids& ids) {
  const CounterRng model(static_cast<std::uint64_t>(sequence), "toy model");
  Logits logits(32);
  for (std::size_t id = 0; id < logits.size(); ++id) {
    logits[id] = model.normal(static_cast<Index>(id) + 32 * (ids.empty() ? 0 : ids.back()));
  }
  ids.push_back(chooser.choose(logits, ids, choice_uniform(seed, sequence, std::ssize(ids))).chosen.token);
  return ids;
}

TEST(ChoiceUniform, ATextDoesNotDependOnTheOthersOfItsBatch) {
  const ChoiceOptions options{.repetition_penalty = 1.2, .temperature = 0.9, .top_k = 20, .top_p = 0.95};
  const auto texts_of = [&](const std::vector<Index>& sequences) {
    TokenChooser chooser(options, 32, all_exist);
    std::map<Index, Ids> texts;
    for (int step = 0; step < 8; ++step) {
      for (const Index sequence : sequences) text_of(chooser, 7, sequence, texts[sequence]);
    }
    return texts;
  };
  const std::map<Index, Ids> all = texts_of({0, 1, 2, 3, 4});
  EXPECT_EQ(texts_of({4, 2, 0, 1, 3}), all);
  for (Index sequence = 0; sequence < 5; ++sequence) {
    EXPECT_EQ(texts_of({sequence}).at(sequence), all.at(sequence));
  }
}

TEST(ChoiceUniform, IsUniformAlongATextAndAcrossTexts) {
  constexpr int kCells = 20;
  constexpr double kLimit = 43.82;  // 99.9% of chi-square with 19 degrees of freedom
  constexpr Index kNumbers = 20000;
  constexpr double kWanted = 1.0 * kNumbers / kCells;
  const auto distance = [&](const std::function<double(Index)>& number) {
    std::vector<double> counts(kCells);
    for (Index i = 0; i < kNumbers; ++i) {
      const double uniform = number(i);
      EXPECT_TRUE(uniform >= 0 && uniform < 1);
      counts[static_cast<std::size_t>(uniform * kCells)] += 1;
    }
    double sum = 0;
    for (const double count : counts) sum += std::pow(count - kWanted, 2) / kWanted;
    return sum;
  };
  EXPECT_LT(distance([](Index i) { return choice_uniform(1, 0, i); }), kLimit);
  EXPECT_LT(distance([](Index i) { return choice_uniform(1, i, 0); }), kLimit);
  EXPECT_LT(distance([](Index i) { return choice_uniform(static_cast<std::uint64_t>(i), 0, 0); }), kLimit);
  // Neighbours are not related: their difference is uniform too, around the circle.
  const auto apart = [](double a, double b) { return a - b < 0 ? a - b + 1 : a - b; };
  EXPECT_LT(distance([&](Index i) { return apart(choice_uniform(1, 0, i), choice_uniform(1, 0, i + 1)); }), kLimit);
  EXPECT_LT(distance([&](Index i) { return apart(choice_uniform(1, i, 5), choice_uniform(1, i + 1, 5)); }), kLimit);
  EXPECT_LT(distance([&](Index i) { return apart(choice_uniform(1, i, i), choice_uniform(2, i, i)); }), kLimit);
}

TEST(ChoiceUniform, DiffersByEachOfItsKeys) {
  std::set<double> numbers;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (Index sequence = 0; sequence < 30; ++sequence) {
      for (Index position = 0; position < 30; ++position) numbers.insert(choice_uniform(seed, sequence, position));
    }
  }
  EXPECT_EQ(numbers.size(), 9000U);
}

}  // namespace
}  // namespace shardline
