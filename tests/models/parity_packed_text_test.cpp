// The documents of the packed task of parity, against lists written by hand.

#include "models/parity/packed_text.h"

#include <gtest/gtest.h>

#include <vector>

#include "models/parity/parity.h"

namespace shardline {
namespace {

constexpr Index kTokens = 7;

std::vector<std::int32_t> row(const SampleSource& data, Series series, std::size_t input, Index sample,
                              Range columns = {0, kTokens}) {
  const Tensor block = data.block(series, input, {sample, sample + 1}, columns, DType::i32);
  return {block.view<std::int32_t>().begin(), block.view<std::int32_t>().end()};
}

TEST(ParityPackedText, DocumentsHaveOneToSevenTokens) {
  const PackedText data(parity_data());
  EXPECT_EQ(data.inputs(), 3U);
  const std::vector<std::vector<std::int32_t>> starts = {{0, 1, 1, 1, 4, 5, 6},
                                                         {0, 0, 2, 3, 3, 5, 5},
                                                         {0, 0, 2, 3, 3, 3, 3},
                                                         {0, 0, 0, 0, 0, 0, 0},
                                                         {0, 1, 1, 1, 4, 4, 6}};
  const std::vector<std::vector<Index>> ends = {{0, 3, 4, 5}, {1, 2, 4, 6}, {1, 2, 6}, {}, {0, 3, 5}};
  const ByteData text = parity_data();
  for (const Series series : {Series::training, Series::held_out}) {
    for (Index sample = 0; sample < 5; ++sample) {
      const auto i = static_cast<std::size_t>(sample);
      EXPECT_EQ(row(data, series, 0, sample), row(text, series, 0, sample));
      EXPECT_EQ(row(data, series, 2, sample), starts[i]) << sample;
      std::vector<std::int32_t> labels = row(text, series, 1, sample);
      for (const Index end : ends[i]) labels[static_cast<std::size_t>(end)] = -1;
      EXPECT_EQ(row(data, series, 1, sample), labels) << sample;
      EXPECT_EQ(data.masked_labels(series, {sample, sample + 1}), static_cast<Index>(ends[i].size()));
    }
  }
  EXPECT_EQ(data.masked_labels(Series::training, {0, 5}), 4 + 4 + 3 + 0 + 3);
}

TEST(ParityPackedText, ABlockIsAPartOfTheRow) {
  const PackedText data(parity_data());
  for (const std::size_t input : {0, 1, 2}) {
    const std::vector<std::int32_t> whole = row(data, Series::training, input, 1);
    EXPECT_EQ(row(data, Series::training, input, 1, {3, 6}),
              (std::vector<std::int32_t>{whole.begin() + 3, whole.begin() + 6}));
    EXPECT_TRUE(row(data, Series::training, input, 1, {4, 4}).empty());
  }
}

}  // namespace
}  // namespace shardline
