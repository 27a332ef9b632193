#include "models/data/token_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/models/data/token_bytes.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

constexpr Index kVocab = 60000;

std::vector<std::int32_t> row(const TokenData& data, Series series, std::size_t input, Index i) {
  const Tensor block = data.block(series, input, {i, i + 1}, {0, 4}, DType::i32);
  const auto view = block.view<std::int32_t>();
  return {view.begin(), view.end()};
}

/// A file of counting tokens: a token tells its file and its place.
std::string file(const TemporaryFolder& folder, const std::string& name, std::uint32_t begin, std::uint32_t tokens) {
  return folder.write(name, bytes_of(counting(begin, begin + tokens), 2));
}

/// The first ids of some samples, after a check that every sample is a window of counting tokens.
std::vector<std::int32_t> firsts(const TokenData& data, Series series, Index begin, Index end) {
  std::vector<std::int32_t> first;
  for (Index i = begin; i < end; ++i) {
    const std::vector<std::int32_t> ids = row(data, series, 0, i);
    const std::vector<std::int32_t> labels = row(data, series, 1, i);
    for (int k = 0; k < 4; ++k) {
      EXPECT_EQ(ids[k], ids[0] + k);
      EXPECT_EQ(labels[k], ids[0] + k + 1);
    }
    first.push_back(ids[0]);
  }
  return first;
}

std::vector<std::int32_t> sorted(std::vector<std::int32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// The first ids of windows of 4 tokens.
void append_windows(std::vector<std::int32_t>& firsts, int begin, int windows) {
  for (int w = 0; w < windows; ++w) firsts.push_back(begin + 4 * w);
}

TEST(TokenData, EachEpochHasEveryWindowOnceInAnOrderOfItsOwn) {
  const TemporaryFolder folder;
  // 25 windows and one token; 3 windows and 2 tokens more; less than a window.
  const std::vector<std::string> files = {file(folder, "a.bin", 0, 101), file(folder, "b.bin", 1000, 15),
                                          file(folder, "c.bin", 2000, 4)};
  const TokenData data({.groups = {{files}}, .sequence = 4, .vocab = kVocab, .seed = 5});
  std::vector<std::int32_t> training;
  append_windows(training, 0, 23);
  append_windows(training, 1000, 3);
  ASSERT_EQ(data.training_windows(), 26);
  std::set<std::vector<std::int32_t>> orders;
  for (Index epoch = 0; epoch < 5; ++epoch) {
    const std::vector<std::int32_t> order = firsts(data, Series::training, 26 * epoch, 26 * (epoch + 1));
    EXPECT_EQ(sorted(order), training) << "epoch " << epoch;
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 5U);
  std::vector<std::int32_t> held_out;
  append_windows(held_out, 92, 2);
  ASSERT_EQ(data.held_out(), 2);
  EXPECT_EQ(sorted(firsts(data, Series::held_out, 0, 2)), held_out);
  EXPECT_EQ(firsts(data, Series::held_out, 2, 4), firsts(data, Series::held_out, 0, 2));
}

TEST(TokenData, ASampleDependsOnSeedAndNumberAlone) {
  const TemporaryFolder folder;
  const std::string path = file(folder, "a.bin", 0, 4001);
  const TokenDataOptions options{.groups = {{{path}}}, .sequence = 4, .vocab = kVocab, .seed = 5};
  TokenDataOptions other = options;
  other.seed = 6;
  const TokenData one(options);
  const TokenData same(options);
  const TokenData other_seed(other);
  EXPECT_EQ(firsts(one, Series::training, 850, 950), firsts(same, Series::training, 850, 950));
  EXPECT_NE(firsts(one, Series::training, 0, 20), firsts(other_seed, Series::training, 0, 20));
  EXPECT_EQ(firsts(one, Series::held_out, 0, 100), firsts(other_seed, Series::held_out, 0, 100));
  // Any part of a block is that part of the whole block.
  const Tensor all = one.block(Series::training, 1, {30, 36}, {0, 4}, DType::i32);
  const Tensor part = one.block(Series::training, 1, {32, 35}, {1, 3}, DType::i32);
  for (Index r = 0; r < 3; ++r) {
    for (Index c = 0; c < 2; ++c) {
      EXPECT_EQ(part.view<std::int32_t>()[2 * r + c], all.view<std::int32_t>()[4 * (r + 2) + c + 1]);
    }
  }
}

TEST(TokenData, MixturesGoThroughEachGroupInItsOwnEpochs) {
  const TemporaryFolder folder;
  const FileGroup large{{file(folder, "a.bin", 0, 401)}, 7};                                     // 90 windows
  const FileGroup small{{file(folder, "b.bin", 1000, 41), file(folder, "c.bin", 2000, 41)}, 3};  // 9 + 9
  const TokenData data({.groups = {large, small}, .sequence = 4, .vocab = kVocab, .seed = 5});
  std::vector<std::int32_t> from_large;
  std::vector<std::int32_t> from_small;
  for (Index i = 0; i < 600; ++i) {
    const std::int32_t first = firsts(data, Series::training, i, i + 1)[0];
    (first < 1000 ? from_large : from_small).push_back(first);
    EXPECT_LE(std::abs(static_cast<double>(from_large.size()) - 0.7 * static_cast<double>(i + 1)), 1.0);
  }
  ASSERT_EQ(from_small.size(), 180U);
  std::vector<std::int32_t> small_windows;
  append_windows(small_windows, 1000, 9);
  append_windows(small_windows, 2000, 9);
  for (auto epoch = from_small.begin(); epoch != from_small.end(); epoch += 18) {
    EXPECT_EQ(sorted({epoch, epoch + 18}), small_windows);
  }
  std::vector<std::int32_t> large_windows;
  append_windows(large_windows, 0, 90);
  EXPECT_EQ(sorted({from_large.begin(), from_large.begin() + 90}), large_windows);
  EXPECT_EQ(data.held_out(), 10 + 1 + 1);
}

TEST(TokenData, FilesMayBeHeldOutWhole) {
  const TemporaryFolder folder;
  const TokenData data({.groups = {{{file(folder, "train.bin", 0, 101)}}},
                        .held_out = {file(folder, "val.bin", 500, 13)},
                        .sequence = 4,
                        .vocab = kVocab,
                        .seed = 5});
  EXPECT_EQ(data.training_windows(), 25);
  EXPECT_EQ(sorted(firsts(data, Series::held_out, 0, 3)), (std::vector<std::int32_t>{500, 504, 508}));
}

TEST(TokenData, TokensBeyondTheVocabulary) {
  const TemporaryFolder folder;
  const auto refused = [&](std::size_t place) {
    std::vector<std::uint32_t> tokens(401, 5);
    tokens[place] = 100;
    const std::string path = folder.write("a.bin", header_of(20240801, 7, 401) + bytes_of(tokens, 4));
    const TokenDataOptions options{.groups = {{{path}}}, .sequence = 4, .vocab = 100, .seed = 5};
    const bool at_the_ends = place < 5 || place >= 396;
    const std::string message = usage_error_of([&] {
      const TokenData data(options);
      EXPECT_FALSE(at_the_ends);
      for (Index i = 0; i < 90; ++i) static_cast<void>(row(data, Series::training, 0, i));
    });
    EXPECT_EQ(message,
              fmt::format("{}: the token at position {} is 100, but the model has a vocabulary of 100", path, place));
  };
  for (const std::size_t place : {0, 4, 5, 200, 396, 400}) refused(place);
  std::vector<std::uint32_t> huge(401, 0xffffffffU);
  const std::string path = folder.write("huge.bin", header_of(20240801, 7, 401) + bytes_of(huge, 4));
  EXPECT_NE(usage_error_of([&] { TokenData({.groups = {{{path}}}, .sequence = 4, .vocab = 100}); }).find("4294967295"),
            std::string::npos);
}

TEST(TokenData, FilesThatAreTooShort) {
  const TemporaryFolder folder;
  const std::string four = file(folder, "four.bin", 0, 4);
  const std::string forty = file(folder, "forty.bin", 0, 40);
  const auto message = [&](const std::vector<std::string>& files, const std::vector<std::string>& held_out) {
    return usage_error_of(
        [&] { TokenData({.groups = {{files}}, .held_out = held_out, .sequence = 4, .vocab = kVocab}); });
  };
  EXPECT_NE(message({four, four}, {}).find("four.bin and 1 more: no sequence to train on"), std::string::npos);
  EXPECT_NE(message({forty, four}, {}).find("that takes 41 tokens in one file"), std::string::npos);
  EXPECT_NE(message({forty}, {four}).find("that takes 5 tokens in one file"), std::string::npos);
  EXPECT_NE(usage_error_of([] { TokenData({.groups = {}, .sequence = 4, .vocab = 9}); }).find("no data file"),
            std::string::npos);
}

TEST(TokenData, TheDescriptionNamesWhatDecidesTheOrder) {
  const TemporaryFolder folder;
  const std::string a = file(folder, "a.bin", 0, 401);
  const std::string b = file(folder, "b.bin", 0, 401);
  const std::string longer = file(folder, "longer/b.bin", 0, 801);
  const auto text = [](const std::vector<FileGroup>& groups) {
    return TokenData({.groups = groups, .sequence = 4, .vocab = kVocab}).description();
  };
  const std::string both = text({{{a}, 70}, {{b}, 30}});
  EXPECT_TRUE(both.starts_with("tokens: 720 to train on, 80 held out; a.bin, b.bin, hash ")) << both;
  EXPECT_TRUE(both.ends_with("; weights 7:3")) << both;
  const std::set<std::string> different = {both,
                                           text({{{a}, 30}, {{b}, 70}}),
                                           text({{{b}, 70}, {{a}, 30}}),
                                           text({{{a, b}}}),
                                           text({{{b, a}}}),
                                           text({{{a}, 70}, {{longer}, 30}}),
                                           text({{{a, b}, 1}, {{a}, 1}}),
                                           text({{{a}, 1}, {{b, a}, 1}}),
                                           text({{{a}}})};
  EXPECT_EQ(different.size(), 9U);
}

TEST(TokenData, TheDescriptionTellsTokensInMemoryApart) {
  const auto text = [](char last) {
    std::string tokens(2 * 401, 'a');
    tokens[2 * 200] = last;  // in the middle, which nothing reads at the start
    const auto open = [&](const std::string& path) { return std::make_shared<const TokenFile>(path, tokens, 2); };
    return TokenData({.groups = {{{"a.txt"}}}, .sequence = 4, .vocab = 65536, .open = open}).description();
  };
  EXPECT_EQ(text('b'), text('b'));
  EXPECT_NE(text('b'), text('c'));
}

}  // namespace
}  // namespace shardline
