#include "models/data/made_data.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr Index kWidth = 40;
constexpr std::size_t kIn = 0;
constexpr std::size_t kTarget = 1;

Tensor rows(const MadeData& data, Series series, std::size_t input, Range samples) {
  return data.block(series, input, samples, {0, kWidth}, DType::f64);
}

TEST(MadeDataTest, BlocksAreCutFromOneSeries) {
  const MadeData data(kWidth, 3);
  for (const std::size_t input : {kIn, kTarget}) {
    const Tensor whole = rows(data, Series::training, input, {0, 30});
    const Tensor part = data.block(Series::training, input, {11, 17}, {5, 23}, DType::f64);
    ASSERT_EQ(part.shape(), (Shape{6, 18}));
    for (Index i = 0; i < 6; ++i) {
      for (Index j = 0; j < 18; ++j) {
        EXPECT_EQ(part.view<double>()[i * 18 + j], whole.view<double>()[(i + 11) * kWidth + j + 5]);
      }
    }
    const Tensor narrow = data.block(Series::training, input, {11, 17}, {5, 23}, DType::f32);
    for (Index i = 0; i < part.size(); ++i) {
      EXPECT_EQ(narrow.view<float>()[i], static_cast<float>(part.view<double>()[i]));
    }
  }
  EXPECT_EQ(data.block(Series::training, kIn, {4, 4}, {0, 3}, DType::f32).size(), 0);
}

TEST(MadeDataTest, InputsHaveMeanZeroAndVarianceOne) {
  const MadeData data(kWidth, 3);
  const Tensor in = rows(data, Series::training, kIn, {0, 1000});
  double sum = 0, squares = 0;
  for (const double value : in.view<double>()) {
    EXPECT_LE(std::abs(value), std::sqrt(3.0));
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(in.size());
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.02);
}

/// One linear map for all rows of both series: in each column of the target, one input column or its negative. So the
/// product of the column with that input column is 1 or -1 on average, and exactly so element by element.
TEST(MadeDataTest, TheTeacherIsOneLinearMap) {
  const MadeData data(kWidth, 3);
  for (Index column = 0; column < kWidth; ++column) {
    int fitting = 0;
    for (Index from = 0; from < kWidth; ++from) {
      for (const double sign : {1.0, -1.0}) {
        bool fits = true;
        for (const Series series : {Series::training, Series::held_out}) {
          const Tensor in = rows(data, series, kIn, {0, 5}), target = rows(data, series, kTarget, {0, 5});
          for (Index i = 0; i < 5; ++i) {
            fits = fits && target.view<double>()[i * kWidth + column] == sign * in.view<double>()[i * kWidth + from];
          }
        }
        fitting += fits ? 1 : 0;
      }
    }
    EXPECT_EQ(fitting, 1) << "column " << column;
  }
}

TEST(MadeDataTest, SeedsAndSeriesDiffer) {
  const auto first = [](std::uint64_t seed, Series series) {
    return rows(MadeData(kWidth, seed), series, kIn, {0, 1}).view<double>()[0];
  };
  EXPECT_EQ(first(3, Series::training), first(3, Series::training));
  EXPECT_NE(first(3, Series::training), first(4, Series::training));
  EXPECT_NE(first(3, Series::training), first(3, Series::held_out));
  EXPECT_THROW(rows(MadeData(kWidth, 3), Series::training, 2, {0, 1}), Error);
}

}  // namespace
}  // namespace shardline
