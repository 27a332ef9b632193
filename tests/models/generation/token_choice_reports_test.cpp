// What a choice says beside its token, what memory it takes, and what it refuses.
#include "models/generation/token_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

#include "runtime/base/result_error.h"
#include "tests/models/generation/choices.h"
#include "tests/models/temporary_folder.h"

namespace {

long allocations = 0;  // of this program, which has one thread

}  // namespace

// Inlined, they make GCC see a mismatch of new and free().
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }

namespace shardline {
namespace {

TEST(TokenChoice, ReportsLogProbabilitiesBeforeAnyFilter) {
  const Logits logits{std::log(1.0), std::log(2.0), std::log(5.0), std::log(2.0)};
  const ChoiceOptions options{
      .repetition_penalty = 3, .temperature = 0.1, .top_k = 2, .top_p = 0.5, .min_p = 0.5, .likeliest = 3};
  const TokenChoice choice = chosen(options, logits, 0.5, {0, 1});
  EXPECT_EQ(choice.chosen.token, 2);
  EXPECT_NEAR(choice.chosen.log_probability, std::log(0.5), 1e-15);
  ASSERT_EQ(choice.likeliest.size(), 3U);
  EXPECT_EQ(choice.likeliest[0], choice.chosen);
  EXPECT_EQ(choice.likeliest[1].token, 1);  // of equal ones the lowest id is first
  EXPECT_NEAR(choice.likeliest[1].log_probability, std::log(0.2), 1e-15);
  EXPECT_EQ(choice.likeliest[2].token, 3);
  EXPECT_NEAR(choice.likeliest[2].log_probability, std::log(0.2), 1e-15);
  EXPECT_TRUE(chosen({}, logits, 0.5).likeliest.empty());
  EXPECT_EQ(chosen({.likeliest = 100}, logits, 0.5).likeliest.size(), 4U);
  // Ids without a token count in the softmax.
  const Exists exists = [](std::int32_t id) { return id < 2; };
  EXPECT_NEAR(chosen({.temperature = 0, .likeliest = 1}, logits, 0, {}, exists).chosen.log_probability, std::log(0.2),
              1e-15);
  // A distance of all logits from 0 does not matter.
  EXPECT_NEAR(chosen({.likeliest = 1}, {1e6, 1e6}, 0).chosen.log_probability, -std::log(2.0), 1e-15);
  // Without reports nobody needs it.
  EXPECT_EQ(chosen({}, logits, 0.5).chosen.log_probability, 0);
}

TEST(TokenChoice, TakesLogitsInF32) {
  const std::vector<float> logits{0.1F, 0.7F, -3};
  const Logits wide(logits.begin(), logits.end());
  const ChoiceOptions options{.top_k = 2, .likeliest = 3};
  TokenChooser chooser = chooser_of(options, wide);
  for (const double uniform : {0.1, 0.9}) {
    const TokenChoice choice = chooser.choose(std::span<const float>(logits), {}, uniform);
    const TokenChoice other = chosen(options, wide, uniform);
    EXPECT_EQ(choice.chosen, other.chosen);
    EXPECT_EQ(choice.likeliest, other.likeliest);
    EXPECT_EQ(choice.gap, other.gap);
  }
}

TEST(TokenChoice, TakesNoMemoryAfterTheFirstChoice) {
  const std::vector<float> logits{0.1F, 0.7F, -3, 2, 0};
  const Ids so_far{1, 2};
  for (const ChoiceOptions& options : {ChoiceOptions{.temperature = 0, .likeliest = 3},
                                       ChoiceOptions{.repetition_penalty = 2, .top_k = 4, .top_p = 0.9}}) {
    TokenChooser chooser(options, std::ssize(logits), all_exist);
    chooser.choose(std::span<const float>(logits), so_far, 0.3);
    const long before = allocations;
    EXPECT_GT(before, 0);
    for (int i = 0; i < 10; ++i) chooser.choose(std::span<const float>(logits), so_far, 0.1 * i);
    EXPECT_EQ(allocations, before);
  }
}

TEST(TokenChoice, RefusesLogitsThatAreNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto refused = [](double logit, const Exists& exists) -> std::string {
    try {
      chosen({.temperature = 0}, {1, 2, logit}, 0, {}, exists);
    } catch (const ResultError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refused(std::nan(""), all_exist), "the logit of token 2 is nan, of 3 tokens; a choice needs finite logits");
  EXPECT_EQ(refused(kInfinity, all_exist), "the logit of token 2 is inf, of 3 tokens; a choice needs finite logits");
  EXPECT_EQ(refused(-kInfinity, all_exist), "the logit of token 2 is -inf, of 3 tokens; a choice needs finite logits");
  EXPECT_NE(refused(-kInfinity, [](std::int32_t id) { return id < 2; }), "");
  try {
    chosen({.repetition_penalty = 1e300}, {1, -1e10}, 0, {1});
    ADD_FAILURE() << "a penalty made a logit infinite";
  } catch (const ResultError& error) {
    EXPECT_STREQ(
        error.what(),
        "--repetition-penalty 1e+300 makes the logit of token 1, -1e+10, -inf; a penalty nearer to 1 may help");
  }
}

TEST(TokenChoice, RefusesIllegalArguments) {
  const Logits logits{1, 2};
  EXPECT_THROW(TokenChooser({}, 0, all_exist), Error);
  EXPECT_THROW(TokenChooser({}, 3, [](std::int32_t) { return false; }), Error);
  EXPECT_THROW(chosen({}, logits, 1), Error);
  EXPECT_THROW(chosen({}, logits, -0.1), Error);
  EXPECT_THROW(chosen({}, logits, std::nan("")), Error);
  EXPECT_THROW(chosen({.repetition_penalty = 2}, logits, 0, {2}), Error);
  EXPECT_THROW(chosen({.repetition_penalty = 2}, logits, 0, {-1}), Error);
  EXPECT_THROW(TokenChooser({}, 3, all_exist).choose(logits, {}, 0), Error);
  EXPECT_THROW(choice_uniform(0, -1, 0), Error);
  EXPECT_THROW(choice_uniform(0, 0, -1), Error);
}

TEST(TokenChoice, RefusesIllegalOptionsWithWhatIsLegal) {
  const auto refused = [](const ChoiceOptions& options) {
    std::string message = usage_error_of([&] { require_legal(options); });
    EXPECT_EQ(usage_error_of([&] { chosen(options, {1, 2}, 0); }), message);
    return message;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refused({.temperature = -1}),
            "temperature is -1; it must be a number of at least 0; 0 takes the likeliest token");
  for (const double bad : {-1e-300, kInfinity, std::nan("")}) refused({.temperature = bad});
  EXPECT_EQ(refused({.repetition_penalty = 0}), "repetition_penalty is 0; it must be a number above 0; 1 is none");
  for (const double bad : {-1.0, kInfinity, std::nan("")}) refused({.repetition_penalty = bad});
  EXPECT_EQ(refused({.top_k = -1}), "top_k is -1; it must be a whole number of at least 0; 0 keeps all tokens");
  EXPECT_EQ(refused({.top_p = 0}), "top_p is 0; it must be above 0 and at most 1; 1 keeps all tokens");
  for (const double bad : {-0.5, 1.5, std::nan("")}) refused({.top_p = bad});
  EXPECT_EQ(refused({.min_p = 1}), "min_p is 1; it must be at least 0 and below 1; 0 keeps all tokens");
  for (const double bad : {-0.5, 2.0, std::nan("")}) refused({.min_p = bad});
  EXPECT_EQ(refused({.likeliest = -1}), "likeliest is -1; it must be a whole number of at least 0");
  require_legal({});
  require_legal({.repetition_penalty = 1e-3, .temperature = 0, .top_k = 1, .top_p = 1e-9, .min_p = 0.999});
}

}  // namespace
}  // namespace shardline
