#include "models/data/prompt_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/models/temporary_folder.h"
#include "tests/models/tokens/made_tokenizer.h"

namespace shardline {
namespace {

using Row = std::vector<std::int32_t>;

std::string line(const std::string& prompt, const std::string& answer) {
  return R"({"prompt": ")" + prompt + R"(", "answer": ")" + answer + "\"}\n";
}

Row row(const PromptData& data, Series series, std::size_t input, Index i, Index tokens) {
  const Tensor block = data.block(series, input, {i, i + 1}, {0, tokens}, DType::i32);
  return {block.view<std::int32_t>().begin(), block.view<std::int32_t>().end()};
}

/// A file of one line to train on and one to hold out.
class OneLine {
 public:
  OneLine(const std::string& prompt, const std::string& answer, Index sequence, bool masks, TextEncoder encoder = {})
      : sequence_(sequence),
        data_({.groups = {{{folder_.write("a.jsonl", line(prompt, answer))}}},
               .held_out = {folder_.write("b.jsonl", line("x", "y"))},
               .sequence = sequence,
               .seed = 1,
               .masks_prompts = masks},
              encoder) {}
  Row ids() const { return row(data_, Series::training, 0, 0, sequence_); }
  Row labels() const { return row(data_, Series::training, 1, 0, sequence_); }
  Index masked() const { return data_.masked_labels(Series::training, {0, 1}); }
  const PromptData& data() const { return data_; }

 private:
  TemporaryFolder folder_;
  Index sequence_;
  PromptData data_;
};

TEST(PromptData, PromptAndPaddingAreMasked) {
  const OneLine made("abc", "de", 8, true);
  EXPECT_EQ(made.ids(), (Row{'a', 'b', 'c', 'd', 'e', 0, 0, 0}));
  EXPECT_EQ(made.labels(), (Row{-1, -1, 'd', 'e', 0, -1, -1, -1}));
  EXPECT_EQ(made.masked(), 5);
}

TEST(PromptData, WithoutAMaskOnlyPaddingIs) {
  const OneLine made("abc", "de", 8, false);
  EXPECT_EQ(made.ids(), (Row{'a', 'b', 'c', 'd', 'e', 0, 0, 0}));
  EXPECT_EQ(made.labels(), (Row{'b', 'c', 'd', 'e', 0, -1, -1, -1}));
  EXPECT_EQ(made.masked(), 3);
}

TEST(PromptData, AnEmptyPromptOrAnswerLeavesTheRest) {
  const OneLine no_prompt("", "ab", 4, true);  // nothing predicts the first token
  EXPECT_EQ(no_prompt.ids(), (Row{'a', 'b', 0, 0}));
  EXPECT_EQ(no_prompt.labels(), (Row{'b', 0, -1, -1}));
  EXPECT_EQ(no_prompt.masked(), 2);
  const OneLine no_answer("ab", "", 4, true);
  EXPECT_EQ(no_answer.ids(), (Row{'a', 'b', 0, 0}));
  EXPECT_EQ(no_answer.labels(), (Row{-1, 0, -1, -1}));
  EXPECT_EQ(no_answer.masked(), 3);
}

TEST(PromptData, LongLinesAreCutAtTheEnd) {
  const OneLine fits("abc", "d", 4, true);  // five tokens with the end
  EXPECT_EQ(fits.labels(), (Row{-1, -1, 'd', 0}));
  EXPECT_EQ(fits.data().cut(), 0);
  const OneLine longer("abc", "de", 4, true);
  EXPECT_EQ(longer.ids(), (Row{'a', 'b', 'c', 'd'}));
  EXPECT_EQ(longer.labels(), (Row{-1, -1, 'd', 'e'}));
  EXPECT_EQ(longer.masked(), 2);
  EXPECT_EQ(longer.data().cut(), 1);
  EXPECT_EQ(longer.data().left_out(), 0);
}

TEST(PromptData, ALineWithoutALabelThatCountsIsLeftOut) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("a.jsonl", line("abcde", "f") + line("abcd", "f") + line("", "") + line("a", "b"));
  const auto made = [&](bool masks) {
    TextEncoder bytes;
    return PromptData({.groups = {{{path}}}, .held_out = {path}, .sequence = 4, .seed = 1, .masks_prompts = masks},
                      bytes);
  };
  const PromptData masked = made(true);
  EXPECT_EQ(masked.training_lines(), 2);
  EXPECT_EQ(masked.left_out(), 4) << "two in each of both files";
  const std::set<Row> labels = {row(masked, Series::training, 1, 0, 4), row(masked, Series::training, 1, 1, 4)};
  EXPECT_EQ(labels, (std::set<Row>{{-1, -1, -1, 'f'}, {'b', 0, -1, -1}}));
  EXPECT_EQ(made(false).training_lines(), 3) << "its prompt counts";
}

TEST(PromptData, ATokenizerMakesTheTokens) {
  nlohmann::json file = made_tokenizer({{"a", "b"}});
  EXPECT_EQ(OneLine("ab", "ab", 4, true, TextEncoder(file.dump(), "t.json")).labels(), (Row{256, -1, -1, -1}))
      << "no token ends the answer";
  file["added_tokens"] = {added_token("</s>", 257), added_token("<|endoftext|>", 258)};
  const OneLine made("ab", "abc", 4, true, TextEncoder(file.dump(), "t.json"));
  EXPECT_EQ(made.ids(), (Row{256, 256, 'c', 258}));
  EXPECT_EQ(made.labels(), (Row{256, 'c', 258, -1}));
}

/// The token before the end, which tells the lines of counted_lines() apart.
std::int32_t told(const PromptData& data, Series series, Index i) { return row(data, series, 0, i, 3)[1]; }

/// Lines "p", and then a letter for each number from `begin` to `end`.
std::string counted_lines(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) text += line("p", std::string(1, static_cast<char>('0' + i)));
  return text;
}

std::vector<std::int32_t> told(const PromptData& data, Series series, Index begin, Index end) {
  std::vector<std::int32_t> all;
  for (Index i = begin; i < end; ++i) all.push_back(told(data, series, i) - '0');
  return all;
}

std::vector<std::int32_t> sorted(std::vector<std::int32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<std::int32_t> counting(int begin, int end) {
  std::vector<std::int32_t> all;
  for (int i = begin; i < end; ++i) all.push_back(i);
  return all;
}

PromptData epochs_of(const std::string& path, std::uint64_t seed) {
  TextEncoder bytes;
  return PromptData({.groups = {{{path}}}, .sequence = 3, .seed = seed, .masks_prompts = true}, bytes);
}

TEST(PromptData, EachEpochHasEveryLineOnceInAnOrderOfItsOwn) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.jsonl", counted_lines(0, 25));
  const PromptData data = epochs_of(path, 5);
  ASSERT_EQ(data.training_lines(), 23);
  ASSERT_EQ(data.held_out(), 2);
  std::set<std::vector<std::int32_t>> orders;
  for (Index epoch = 0; epoch < 4; ++epoch) {
    orders.insert(told(data, Series::training, 23 * epoch, 23 * (epoch + 1)));
    EXPECT_EQ(sorted(told(data, Series::training, 23 * epoch, 23 * (epoch + 1))), counting(0, 23));
  }
  EXPECT_EQ(orders.size(), 4U);
  EXPECT_EQ(sorted(told(data, Series::held_out, 0, 2)), counting(23, 25));
  EXPECT_EQ(told(data, Series::held_out, 2, 4), told(data, Series::held_out, 0, 2));
  EXPECT_EQ(told(epochs_of(path, 5), Series::training, 40, 60), told(data, Series::training, 40, 60));
  EXPECT_NE(told(epochs_of(path, 6), Series::training, 40, 60), told(data, Series::training, 40, 60));
}

TEST(PromptData, MixesGroupsByWeight) {
  const TemporaryFolder folder;
  const std::string large = folder.write("a.jsonl", counted_lines(0, 30));
  const std::string small = folder.write("b.jsonl", counted_lines(40, 44));
  TextEncoder bytes;
  const PromptData data(
      {.groups = {{{large}, 3}, {{small}, 1}}, .held_out = {small}, .sequence = 3, .seed = 5, .masks_prompts = true},
      bytes);
  const std::vector<std::int32_t> all = told(data, Series::training, 0, 40);
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](int i) { return i >= 40; }), 10);
  EXPECT_NE(data.description().find("weights 3:1"), std::string::npos) << data.description();
}

TEST(PromptData, APartOfABlockIsThatPartOfTheWhole) {
  const TemporaryFolder folder;
  const PromptData data = epochs_of(folder.write("a.jsonl", counted_lines(0, 25)), 5);
  for (const std::size_t input : {0, 1}) {
    const Tensor part = data.block(Series::training, input, {21, 26}, {1, 3}, DType::i32);
    for (Index i = 0; i < 5; ++i) {
      const Row whole = row(data, Series::training, input, 21 + i, 3);
      EXPECT_EQ(part.view<std::int32_t>()[2 * i], whole[1]);
      EXPECT_EQ(part.view<std::int32_t>()[2 * i + 1], whole[2]);
    }
  }
}

TEST(PromptData, TheDescriptionTellsDataApart) {
  const TemporaryFolder folder;
  const std::string one = folder.write("one/a.jsonl", counted_lines(0, 20));
  const std::string same = folder.write("two/a.jsonl", counted_lines(0, 20));
  const std::string other = folder.write("three/a.jsonl", counted_lines(1, 21));
  const auto described = [](const std::string& path, bool masks, TextEncoder encoder = {}) {
    return PromptData({.groups = {{{path}}}, .sequence = 3, .seed = 1, .masks_prompts = masks}, encoder).description();
  };
  EXPECT_EQ(described(one, true), described(same, true));
  EXPECT_NE(described(one, true), described(other, true));
  EXPECT_NE(described(one, true), described(one, false));
  EXPECT_NE(described(one, true), described(one, true, TextEncoder(made_tokenizer({{"p", "0"}}).dump(), "t.json")));
  EXPECT_TRUE(described(one, true).ends_with("; end token 0")) << described(one, true);
  nlohmann::json file = made_tokenizer();
  EXPECT_TRUE(described(one, true, TextEncoder(file.dump(), "t.json")).ends_with("; no end token"));
  file["added_tokens"] = {added_token("<|eot_id|>", 256), added_token("</s>", 257)};
  EXPECT_TRUE(described(one, true, TextEncoder(file.dump(), "t.json")).ends_with("; end token 257"));
  EXPECT_EQ(described(one, true).find("lines: 18 to train on, 2 held out, prompts masked; a.jsonl, hash "), 0U);
}

TEST(PromptData, RefusesFilesByName) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, Index sequence) {
    return usage_error_of([&] {
      TextEncoder bytes;
      PromptData({.groups = {{{folder.write("a.jsonl", text)}}}, .sequence = sequence, .masks_prompts = true}, bytes);
    });
  };
  const std::string path = folder.path("a.jsonl");
  EXPECT_EQ(refused("", 4), path + ": no line to train on");
  EXPECT_EQ(refused(line("abcde", "f"), 4),
            path + ": no line to train on; no label of its 1 lines counts in sequences of 4 tokens");
  EXPECT_EQ(
      refused(counted_lines(0, 9), 4),
      path + ": no line is held out; the last tenth of each file is, so a file needs 10 lines with labels that count");
  EXPECT_NE(refused("{}", 4).find(path + ": line 1"), std::string::npos);
  EXPECT_NE(refused(line("a", "b"), 0).find("0 tokens"), std::string::npos);
  EXPECT_NE(usage_error_of([&] {
              TextEncoder bytes;
              PromptData({.groups = {{{folder.path("none.jsonl")}}}, .sequence = 4}, bytes);
            }).find("none.jsonl"),
            std::string::npos);
}

}  // namespace
}  // namespace shardline
