#include "models/tokens/bpe.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace shardline {
namespace {

using Ids = std::vector<std::int32_t>;

std::array<std::int32_t, 256> bytes_as_ids() {
  std::array<std::int32_t, 256> ids{};
  for (std::int32_t byte = 0; byte < 256; ++byte) ids[static_cast<std::size_t>(byte)] = byte;
  return ids;
}

/// The definition: look at all pairs, merge the leftmost of the lowest rank, begin again.
Ids defined_ids(const std::string& word, const std::vector<Merge>& merges) {
  Ids ids(word.begin(), word.end());
  while (true) {
    std::size_t best_rank = merges.size();
    std::size_t best_place = 0;
    for (std::size_t place = 0; place + 1 < ids.size(); ++place) {
      for (std::size_t rank = 0; rank < best_rank; ++rank) {
        if (merges[rank].left != ids[place] || merges[rank].right != ids[place + 1]) continue;
        best_rank = rank;
        best_place = place;
      }
    }
    if (best_rank == merges.size()) return ids;
    ids[best_place] = merges[best_rank].merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_place) + 1);
  }
}

TEST(BytePairEncoding, EqualsItsDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    // Random merges of random tokens; the texts of tokens are unique, as in a vocabulary.
    std::vector<Merge> merges;
    std::map<std::int32_t, std::string> texts{{'a', "a"}, {'b', "b"}, {'c', "c"}};
    std::map<std::string, std::int32_t> ids{{"a", 'a'}, {"b", 'b'}, {"c", 'c'}};
    const auto any_token = [&] {
      return std::next(texts.begin(), static_cast<std::ptrdiff_t>(random() % texts.size()))->first;
    };
    for (int i = 0; i < 30; ++i) {
      const std::int32_t left = any_token();
      const std::int32_t right = any_token();
      const std::string text = texts[left] + texts[right];
      const std::int32_t merged = ids.try_emplace(text, 256 + i).first->second;
      texts[merged] = text;
      bool listed = false;
      for (const Merge& merge : merges) listed |= merge.left == left && merge.right == right;
      if (!listed) merges.push_back({left, right, merged});
    }
    Bpe bpe(bytes_as_ids(), merges);
    for (int i = 0; i < 40; ++i) {
      std::string word(random() % 50, ' ');
      for (char& byte : word) byte = "abc"[random() % 3];
      Ids found;
      bpe.append(word, found);
      ASSERT_EQ(found, defined_ids(word, merges)) << word;
    }
  }
}

TEST(BytePairEncoding, OfLongWords) {
  Bpe bpe(bytes_as_ids(), {{'a', 'a', 256}, {256, 256, 257}});
  Ids ids;
  bpe.append(std::string(1'000'003, 'a'), ids);
  ASSERT_EQ(ids.size(), 250'002);
  EXPECT_EQ(ids[0], 257);
  EXPECT_EQ(ids[250'000], 256);
  EXPECT_EQ(ids[250'001], 'a');
}

TEST(BytePairEncoding, TheLastOfEqualMergesCounts) {
  Bpe bpe(bytes_as_ids(), {{'a', 'b', 256}, {'b', 'c', 257}, {'a', 'b', 256}});
  Ids ids;
  bpe.append("abc", ids);
  EXPECT_EQ(ids, (Ids{'a', 257}));
}

TEST(BytePairEncoding, WithoutMergesAppendsBytes) {
  Bpe bpe(bytes_as_ids(), {});
  Ids ids{7};
  bpe.append("ab", ids);
  EXPECT_EQ(ids, (Ids{7, 'a', 'b'}));
}

}  // namespace
}  // namespace shardline
