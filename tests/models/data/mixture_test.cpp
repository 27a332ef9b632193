#include "models/data/mixture.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

/// The largest difference between the count of a source and its share, over all beginnings; -1 if a source's samples do
/// not come in order.
double largest_difference(const Mixture& mixture, const std::vector<double>& weights, Index samples) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<Index> counts(weights.size(), 0);
  double most = 0;
  for (Index i = 0; i < samples; ++i) {
    const Mixture::Place place = mixture.at(i);
    if (place.sample != counts.at(place.source)++) return -1;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double share = static_cast<double>(i + 1) * weights[j] / sum;
      most = std::max(most, std::abs(static_cast<double>(counts[j]) - share));
    }
  }
  return most;
}

TEST(Mixture, CountsAreWithinOneOfTheShares) {
  const std::vector<std::vector<Index>> some = {{1},
                                                {7, 3},
                                                {70, 30},
                                                {1, 1},
                                                {1, 1, 1, 1, 1, 1, 1},
                                                {1, 999},
                                                {999, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                                                {13, 8, 5, 3, 2, 1, 1},
                                                {6, 6, 6, 6, 1},
                                                {512, 256, 128, 64, 32, 16, 8, 4, 2, 1},
                                                {334, 333, 333},
                                                {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47}};
  for (const std::vector<Index>& weights : some) {
    const std::vector<double> shares(weights.begin(), weights.end());
    const double most = largest_difference(Mixture(weights), shares, 3000);
    EXPECT_GE(most, 0) << testing::PrintToString(weights);
    EXPECT_LT(most, 1) << testing::PrintToString(weights);
  }
}

TEST(Mixture, ASampleIsAFunctionOfItsNumber) {
  const Mixture mixture({7, 3});
  EXPECT_EQ(mixture.weights(), (std::vector<Index>{7, 3}));
  EXPECT_EQ(Mixture({140, 60}).weights(), (std::vector<Index>{7, 3}));
  const Index far = Index{1} << 50;
  const Mixture::Place place = mixture.at(far * 10 + 4);
  EXPECT_EQ(place.source, mixture.at(4).source);
  EXPECT_EQ(place.sample, far * mixture.weights()[place.source] + mixture.at(4).sample);
}

TEST(Mixture, WeightsAsTyped) {
  EXPECT_EQ(Mixture(whole_weights("0.7,0.3", "-w")).weights(), (std::vector<Index>{7, 3}));
  EXPECT_EQ(Mixture(whole_weights(" 2 , .5,1.", "-w")).weights(), (std::vector<Index>{4, 1, 2}));
  EXPECT_EQ(Mixture(whole_weights("0.333333,0.666667", "-w")).weights(), (std::vector<Index>{333'333, 666'667}));
  for (const char* wrong : {"", "1,", "0,1", "-1,2", "1e3", "0x2", "nan", ".", "0.1234567", "1.2.3", "1 2"}) {
    EXPECT_NE(usage_error_of([&] { whole_weights(wrong, "-w"); }).find(std::string("-w ") + wrong), std::string::npos);
  }
  EXPECT_NE(usage_error_of([] { Mixture({1'000'000, 1}); }).find("1000001"), std::string::npos);
}

}  // namespace
}  // namespace shardline
