#include "runtime/base/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "runtime/base/check.h"

namespace shardline {
namespace {

std::vector<Index> all_of(const Permutation& order) {
  std::vector<Index> numbers;
  for (Index i = 0; i < order.size(); ++i) numbers.push_back(order.at(i));
  return numbers;
}

bool is_permutation(std::vector<Index> numbers) {
  std::sort(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != static_cast<Index>(i)) return false;
  }
  return true;
}

TEST(Permutation, EveryNumberComesOnce) {
  for (Index size = 1; size <= 300; ++size) {
    EXPECT_TRUE(is_permutation(all_of({size, 3, "order"}))) << size;
  }
  for (const Index size : {4095, 4096, 4097, 100'003, 262'144, 262'145}) {
    EXPECT_TRUE(is_permutation(all_of({size, 3, "order"}))) << size;
  }
}

TEST(Permutation, LargeSizesStayInRangeAndDoNotCollide) {
  for (const Index size : {(Index{1} << 32) + 1, (Index{1} << 40) - 3, Index{1} << 62}) {
    const Permutation order(size, 1, "order");
    std::set<Index> seen;
    for (Index i = 0; i < 10'000; ++i) {
      const Index number = order.at(size - 1 - i);
      ASSERT_TRUE(number >= 0 && number < size) << number;
      seen.insert(number);
    }
    EXPECT_EQ(seen.size(), 10'000U);
    EXPECT_GT(*seen.rbegin(), size / 100 * 99);  // not only small ones
  }
}

TEST(Permutation, SeedAndNameDecideIt) {
  const std::vector<Index> one = all_of({1000, 3, "epoch 0"});
  EXPECT_EQ(one, all_of({1000, 3, "epoch 0"}));
  for (const std::vector<Index>& other : {all_of({1000, 4, "epoch 0"}), all_of({1000, 3, "epoch 1"})}) {
    int equal = 0;
    for (std::size_t i = 0; i < one.size(); ++i) equal += one[i] == other[i] ? 1 : 0;
    EXPECT_LT(equal, 12) << "one place is equal in the mean";
  }
}

/// Over many seeds each number comes at each place equally often: chi squared of 64 counts, which has mean 56 and
/// deviation 11.
TEST(Permutation, PlacesAreUniformOverSeeds) {
  std::array<std::array<double, 8>, 8> counts{};
  constexpr int kSeeds = 8000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Permutation order(8, seed, "order");
    for (std::size_t i = 0; i < 8; ++i) counts[i][static_cast<std::size_t>(order.at(static_cast<Index>(i)))] += 1;
  }
  double chi_squared = 0;
  for (const auto& row : counts) {
    for (const double count : row) chi_squared += std::pow(count - kSeeds / 8.0, 2) / (kSeeds / 8.0);
  }
  EXPECT_LT(chi_squared, 110);
}

TEST(Permutation, RefusesPlacesAndSizesThatAreNone) {
  EXPECT_THROW(Permutation(0, 1, "order"), Error);
  EXPECT_THROW(Permutation((Index{1} << 62) + 1, 1, "order"), Error);
  const Permutation order(5, 1, "order");
  EXPECT_THROW(static_cast<void>(order.at(5)), Error);
  EXPECT_THROW(static_cast<void>(order.at(-1)), Error);
}

}  // namespace
}  // namespace shardline
