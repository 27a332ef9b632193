// Several documents in one sample, compared with a scan that gives every token the number of its document.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models/data/byte_data.h"
#include "models/data/made_data.h"
#include "models/data/prompt_data.h"
#include "models/data/token_data.h"
#include "tests/models/data/token_bytes.h"
#include "tests/models/temporary_folder.h"
#include "tests/models/tokens/made_tokenizer.h"

namespace shardline {
namespace {

using Row = std::vector<std::int32_t>;

/// A sample as a model gets it.
struct Seen {
  Row ids;
  Row labels;
  Row starts;
  auto operator<=>(const Seen&) const = default;
};

Row row(const SampleSource& data, Series series, std::size_t input, Index i, Range columns) {
  const Tensor block = data.block(series, input, {i, i + 1}, columns, DType::i32);
  return {block.view<std::int32_t>().begin(), block.view<std::int32_t>().end()};
}

Seen seen(const SampleSource& data, Series series, Index i, Index tokens) {
  return {row(data, series, 0, i, {0, tokens}), row(data, series, 1, i, {0, tokens}),
          row(data, series, 2, i, {0, tokens})};
}

/// Samples of a series, sorted. The test fails if their masked labels are not those that are counted, or a part of a
/// block is not that part of the whole.
std::vector<Seen> all_seen(const SampleSource& data, Series series, Index samples, Index tokens) {
  std::vector<Seen> all;
  Index masked = 0;
  for (Index i = 0; i < samples; ++i) {
    all.push_back(seen(data, series, i, tokens));
    masked += std::count(all.back().labels.begin(), all.back().labels.end(), -1);
    const Index middle = tokens / 2;
    for (const auto& [input, whole] :
         {std::pair{0, all.back().ids}, std::pair{1, all.back().labels}, std::pair{2, all.back().starts}}) {
      EXPECT_EQ(row(data, series, input, i, {middle, tokens}), Row(whole.begin() + middle, whole.end()));
    }
  }
  EXPECT_EQ(data.masked_labels(series, {0, samples}), masked);
  std::sort(all.begin(), all.end());
  return all;
}

/// A token, the number of its document (-1 for padding), and whether it counts as a label.
struct Told {
  std::int32_t id = 0;
  int document = -1;
  bool counts = false;
};

/// What a model must get of T + 1 tokens, by looking at every pair of neighbours.
Seen expected_of(const std::vector<Told>& tokens) {
  Seen made;
  for (std::size_t c = 0; c + 1 < tokens.size(); ++c) {
    const Told& next = tokens[c + 1];
    const bool counts = next.counts && next.document == tokens[c].document;
    made.ids.push_back(tokens[c].id);
    made.labels.push_back(counts ? next.id : -1);
    std::size_t start = 0;
    while (tokens[start].document != tokens[c].document) ++start;
    made.starts.push_back(static_cast<std::int32_t>(start));
  }
  return made;
}

/// A line of prompt and answer, for the file and for the scan.
struct Line {
  std::string prompt;
  std::string answer;
};

std::string text_of(const std::vector<Line>& lines) {
  std::string text;
  for (const auto& [prompt, answer] : lines) {
    text += fmt::format("{{\"prompt\": \"{}\", \"answer\": \"{}\"}}\n", prompt, answer);
  }
  return text;
}

/// Samples of T + 1 tokens from lines that have a label that counts, as many in each as have room.
std::vector<Seen> packs_of(const std::vector<Line>& lines, std::size_t tokens, bool masks) {
  std::vector<std::vector<Told>> packs;
  for (int document = 0; document < static_cast<int>(lines.size()); ++document) {
    const auto& [prompt, answer] = lines[static_cast<std::size_t>(document)];
    std::vector<Told> line;
    for (const char c : prompt) line.push_back({c, document, !masks});
    for (const char c : answer) line.push_back({c, document, true});
    line.push_back({0, document, true});
    line.resize(std::min(line.size(), tokens + 1));
    if (packs.empty() || packs.back().size() + line.size() > tokens + 1) packs.emplace_back();
    packs.back().insert(packs.back().end(), line.begin(), line.end());
  }
  std::vector<Seen> all;
  for (std::vector<Told>& pack : packs) {
    pack.resize(tokens + 1);
    all.push_back(expected_of(pack));
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Lines of 3 to 14 bytes, some of them longer than a sample of 12 tokens; each begins with another letter.
std::vector<Line> some_lines(int count, char first) {
  std::vector<Line> lines;
  for (int i = 0; i < count; ++i) {
    const std::string prompt(static_cast<std::size_t>(1 + i * i % 5), static_cast<char>(first + i));
    lines.push_back({prompt, std::string(static_cast<std::size_t>(1 + 7 * i % 9), static_cast<char>('0' + i % 10))});
  }
  return lines;
}

PromptData packed(const std::vector<FileGroup>& groups, const std::vector<std::string>& held_out, bool masks = false,
                  Index tokens = 12) {
  TextEncoder bytes;
  return PromptData(
      {.groups = groups, .held_out = held_out, .sequence = tokens, .seed = 3, .masks_prompts = masks, .packs = true},
      bytes);
}

TEST(PackedLines, AreThoseOfAScan) {
  const TemporaryFolder folder;
  const std::vector<Line> first = some_lines(23, 'a');
  const std::vector<Line> second = some_lines(8, 'A');
  const std::vector<Line> others = some_lines(9, 'N');
  const FileGroup group{{folder.write("a.jsonl", text_of(first)), folder.write("b.jsonl", text_of(second))}};
  const std::string held_out = folder.write("c.jsonl", text_of(others));
  std::vector<Line> both = first;
  both.insert(both.end(), second.begin(), second.end());
  for (const bool masks : {false, true}) {
    const PromptData data = packed({group}, {held_out}, masks);
    const std::vector<Seen> expected = packs_of(both, 12, masks);
    ASSERT_EQ(data.training_samples(), static_cast<Index>(expected.size()));
    EXPECT_LT(data.training_samples(), data.training_lines());
    EXPECT_EQ(all_seen(data, Series::training, data.training_samples(), 12), expected);
    EXPECT_EQ(all_seen(data, Series::held_out, data.held_out(), 12), packs_of(others, 12, masks));
  }
}

TEST(PackedLines, WrittenOut) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.jsonl", text_of({{"ab", "cd"}, {"e", "f"}, {"gh", "ijklmnop"}}));
  const auto sample = [](const PromptData& data, std::int32_t first) {
    for (Index i = 0; i < data.training_samples(); ++i) {
      Seen each = seen(data, Series::training, i, 9);
      if (each.ids[0] == first) return each;
    }
    return Seen();
  };
  const PromptData data = packed({{{path}}}, {path}, true, 9);
  const Seen two = sample(data, 'a');
  EXPECT_EQ(two.ids, (Row{'a', 'b', 'c', 'd', 0, 'e', 'f', 0, 0}));
  EXPECT_EQ(two.labels, (Row{-1, 'c', 'd', 0, -1, 'f', 0, -1, -1}));
  EXPECT_EQ(two.starts, (Row{0, 0, 0, 0, 0, 5, 5, 5, 8})) << "the padding is a document";
  const Seen longer = sample(data, 'g');
  EXPECT_EQ(longer.labels, (Row{-1, 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p'})) << "cut at the end";
  EXPECT_EQ(longer.starts, Row(9, 0));
  EXPECT_EQ(data.cut(), 2) << "once in each of both files";
}

TEST(PackedLines, AreFilledToTheLastLabel) {
  const TemporaryFolder folder;
  // Tokens with the end: 4, 3, 2 and 5.
  const std::string path = folder.write("a.jsonl", text_of({{"a", "bc"}, {"d", "e"}, {"", "f"}, {"g", "hij"}}));
  // Room for 4 + 3: the last end token is a label only.
  const PromptData exact = packed({{{path}}}, {path}, false, 6);
  EXPECT_EQ(all_seen(exact, Series::training, 2, 6),
            (std::vector<Seen>{{{'a', 'b', 'c', 0, 'd', 'e'}, {'b', 'c', 0, -1, 'e', 0}, {0, 0, 0, 0, 4, 4}},
                               {{'f', 0, 'g', 'h', 'i', 'j'}, {0, -1, 'h', 'i', 'j', 0}, {0, 0, 2, 2, 2, 2}}}));
  // One place less: 4, then 3 + 2, and 5 are samples.
  EXPECT_EQ(packed({{{path}}}, {path}, false, 5).training_samples(), 3);
}

TEST(PackedLines, EachEpochHasEverySampleOnceAndGroupsStayApart) {
  const TemporaryFolder folder;
  const FileGroup many{{folder.write("a.jsonl", text_of(some_lines(24, 'a')))}, 3};
  const FileGroup few{{folder.write("b.jsonl", text_of(some_lines(4, 'A')))}, 1};
  const PromptData data = packed({many, few}, {few.files});
  std::vector<Seen> from_many;
  std::vector<Seen> from_few;
  const std::vector<Seen> packs_of_many = packs_of(some_lines(24, 'a'), 12, false);
  const std::vector<Seen> packs_of_few = packs_of(some_lines(4, 'A'), 12, false);
  ASSERT_EQ(data.training_samples(), static_cast<Index>(packs_of_many.size() + packs_of_few.size()));
  for (Index i = 0; from_many.size() < 2 * packs_of_many.size(); ++i) {
    const Seen each = seen(data, Series::training, i, 12);
    (each.ids[0] >= 'a' ? from_many : from_few).push_back(each);
  }
  std::set<std::vector<Seen>> orders;
  const auto epoch = static_cast<std::ptrdiff_t>(packs_of_many.size());
  for (std::ptrdiff_t begin : {std::ptrdiff_t{0}, epoch}) {
    std::vector<Seen> order(from_many.begin() + begin, from_many.begin() + begin + epoch);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, packs_of_many);
  }
  EXPECT_EQ(orders.size(), 2U) << "an order of its own";
  for (const Seen& each : from_few) EXPECT_NE(std::ranges::find(packs_of_few, each), packs_of_few.end());
}

TEST(PackedLines, TheLastTenthOfTheLinesIsPackedForItself) {
  const TemporaryFolder folder;
  const std::vector<Line> lines = some_lines(25, 'a');
  const PromptData data = packed({{{folder.write("a.jsonl", text_of(lines))}}}, {});
  EXPECT_EQ(all_seen(data, Series::training, data.training_samples(), 12),
            packs_of({lines.begin(), lines.end() - 2}, 12, false));
  EXPECT_EQ(all_seen(data, Series::held_out, data.held_out(), 12), packs_of({lines.end() - 2, lines.end()}, 12, false));
  EXPECT_EQ(data.description().find(fmt::format(
                "lines: 23 to train on, 2 held out, packed into {} and {} sequences, prompts count too; a.jsonl, hash ",
                data.training_samples(), data.held_out())),
            0U)
      << data.description();
}

/// Token 1 ends documents here.
constexpr std::int32_t kEnd = 1;

/// 0 to 22 tokens that are no end, and then one; some end tokens follow each other.
std::vector<std::uint32_t> documents(int count) {
  std::vector<std::uint32_t> tokens;
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < i * i * 7 % 23; ++k) tokens.push_back(static_cast<std::uint32_t>(2 + tokens.size()));
    tokens.push_back(kEnd);
  }
  return tokens;
}

/// What a model must get of the window with which a file goes on at token `first`.
Seen window_of(const std::vector<std::uint32_t>& tokens, std::size_t first, std::size_t width) {
  std::vector<Told> told;
  int document = 0;
  for (std::size_t i = 0; i < first + width + 1; ++i) {
    if (i >= first) told.push_back({static_cast<std::int32_t>(tokens[i]), document, true});
    document += tokens[i] == kEnd ? 1 : 0;
  }
  return expected_of(told);
}

TEST(PackedTokens, AreThoseOfAScan) {
  const TemporaryFolder folder;
  const std::vector<std::uint32_t> tokens = documents(60);
  const std::vector<std::uint32_t> others = documents(9);
  const std::string path = folder.write("a.bin", bytes_of(tokens, 2));
  const std::string held_out = folder.write("b.bin", bytes_of(others, 2));
  for (const std::size_t width : {1, 4, 16, 37}) {
    const auto windows = [&](const std::vector<std::uint32_t>& all) {
      std::vector<Seen> expected;
      for (std::size_t first = 0; first + width < all.size(); first += width) {
        expected.push_back(window_of(all, first, width));
      }
      std::sort(expected.begin(), expected.end());
      return expected;
    };
    const auto columns = static_cast<Index>(width);
    const TokenData data({.groups = {{{path}}},
                          .held_out = {held_out},
                          .sequence = columns,
                          .vocab = 5000,
                          .seed = 3,
                          .document_end = kEnd});
    EXPECT_EQ(data.inputs(), 3U);
    EXPECT_EQ(all_seen(data, Series::training, data.training_windows(), columns), windows(tokens));
    EXPECT_EQ(all_seen(data, Series::held_out, data.held_out(), columns), windows(others));
  }
}

TEST(PackedTokens, WrittenOut) {
  const std::string tokens = bytes_of({5, 6, 1, 7, 1, 1, 8, 9, 4}, 2);
  const TokenOpener open = [&](const std::string& path) { return std::make_shared<const TokenFile>(path, tokens, 2); };
  const TokenData data({.groups = {{{"a.txt"}}},
                        .held_out = {"a.txt"},
                        .sequence = 8,
                        .vocab = 10,
                        .seed = 3,
                        .open = open,
                        .document_end = kEnd});
  const Seen sample = seen(data, Series::training, 0, 8);
  EXPECT_EQ(sample.ids, (Row{5, 6, 1, 7, 1, 1, 8, 9}));
  EXPECT_EQ(sample.labels, (Row{6, 1, -1, 1, -1, -1, 9, 4}));
  EXPECT_EQ(sample.starts, (Row{0, 0, 0, 3, 3, 5, 6, 6}));
  EXPECT_EQ(data.masked_labels(Series::training, {0, 2}), 6);
}

TEST(Packing, TheDescriptionTellsItApart) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.bin", bytes_of(documents(60), 2));
  const auto described = [&](std::optional<std::int32_t> end) {
    return TokenData({.groups = {{{path}}}, .sequence = 4, .vocab = 5000, .document_end = end}).description();
  };
  EXPECT_EQ(std::set<std::string>({described({}), described(1), described(2)}).size(), 3U);
  EXPECT_NE(described(1).find("; token 1 ends documents"), std::string::npos) << described(1);
  // Lines that are too long to share a sample make the same samples, but have a third input.
  const std::string lines = folder.write("a.jsonl", text_of(some_lines(20, 'a')));
  TextEncoder bytes;
  const auto of_lines = [&](bool packs) {
    return PromptData({.groups = {{{lines}}}, .sequence = 2, .packs = packs}, bytes).description();
  };
  EXPECT_NE(of_lines(true), of_lines(false));
}

TEST(Packing, OtherSourcesHaveNoStarts) {
  const TemporaryFolder folder;
  const std::string text = folder.write("a.txt", std::string(200, 'a'));
  const std::string lines = folder.write("a.jsonl", text_of(some_lines(20, 'a')));
  const std::string tokens = folder.write("a.bin", bytes_of(documents(60), 2));
  TextEncoder bytes;
  EXPECT_EQ(ByteData({text}, 4, 1).inputs(), 2U);
  EXPECT_EQ(MadeData(4, 1).inputs(), 2U);
  EXPECT_EQ(PromptData({.groups = {{{lines}}}, .sequence = 4}, bytes).inputs(), 2U);
  EXPECT_EQ(TokenData({.groups = {{{tokens}}}, .sequence = 4, .vocab = 5000}).inputs(), 2U);
}

TEST(PackedLines, ATokenizerMakesTheTokens) {
  const TemporaryFolder folder;
  nlohmann::json file = made_tokenizer({{"a", "b"}});
  const std::string path = folder.write("a.jsonl", text_of({{"ab", "c"}, {"d", "ab"}}));
  const auto sample = [&] {
    TextEncoder encoder(file.dump(), "t.json");
    return seen(PromptData({.groups = {{{path}}}, .held_out = {path}, .sequence = 6, .packs = true}, encoder),
                Series::training, 0, 6);
  };
  // Without an end token nothing but `starts` tells the lines apart.
  EXPECT_EQ(sample(), (Seen{{256, 'c', 'd', 256, 0, 0}, {'c', -1, 256, -1, -1, -1}, {0, 0, 2, 2, 4, 4}}));
  file["added_tokens"] = {added_token("</s>", 257)};
  EXPECT_EQ(sample(), (Seen{{256, 'c', 257, 'd', 256, 257}, {'c', 257, -1, 256, 257, -1}, {0, 0, 0, 3, 3, 3}}));
}

}  // namespace
}  // namespace shardline
