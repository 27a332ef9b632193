#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace shardline {

/// Two neighbours that become one token. The place in the list of merges is the rank: the lowest comes first.
struct Merge {
  std::int32_t left = 0;
  std::int32_t right = 0;
  std::int32_t merged = 0;
};

/// Byte-pair encoding of single words: each byte is a token, and as long as two neighbours can merge, the pair with
/// the lowest rank does, the leftmost of equal ones.
class Bpe {
 public:
  /// `byte_ids`: the token of each byte. Of a pair that is listed twice the last rank counts.
  Bpe(const std::array<std::int32_t, 256>& byte_ids, const std::vector<Merge>& merges);

  /// Appends the ids of `word` to `ids`. Takes n log n time for n bytes. A word has less than 2^31 bytes.
  void append(std::string_view word, std::vector<std::int32_t>& ids);

 private:
  struct Rule {
    std::uint64_t pair = 0;
    std::int32_t rank = 0;
    std::int32_t merged = 0;
  };
  /// A token of the word. Neighbours are linked; a token that has merged into the one before it has id kGone.
  struct Symbol {
    std::int32_t id = 0;
    std::int32_t previous = 0;
    std::int32_t next = 0;
  };
  /// A pair that can merge: the symbols at `place` and after it, if they still have these ids.
  struct Candidate {
    std::int32_t rank = 0;
    std::int32_t place = 0;
    std::uint64_t pair = 0;
    std::int32_t merged = 0;
  };

  const Rule* rule_of(std::uint64_t pair) const;
  void consider(std::int32_t place);
  void merge(const Candidate& candidate);

  std::array<std::int32_t, 256> byte_ids_;
  std::vector<Rule> rules_;  ///< by the hash of the pair; as many as a power of two
  int hash_shift_ = 0;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace shardline
