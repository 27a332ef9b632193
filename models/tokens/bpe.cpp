#include "models/tokens/bpe.h"

#include <algorithm>
#include <bit>

namespace shardline {
namespace {

constexpr std::uint64_t kNoPair = ~std::uint64_t{0};
constexpr std::int32_t kGone = -1;
constexpr std::int32_t kNone = -1;  // no neighbour

std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32U) | static_cast<std::uint32_t>(right);
}

/// The upper bits of this product are a good hash (the multiplier is 2^64 over the golden ratio).
std::uint64_t scattered(std::uint64_t pair) { return (pair ^ (pair >> 29U)) * 0x9E3779B97F4A7C15U; }

}  // namespace

Bpe::Bpe(const std::array<std::int32_t, 256>& byte_ids, const std::vector<Merge>& merges) : byte_ids_(byte_ids) {
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(2 * merges.size(), 2));
  hash_shift_ = 64 - std::countr_zero(size);
  rules_.assign(size, Rule{kNoPair});
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    const std::uint64_t pair = pair_of(merge.left, merge.right);
    std::size_t slot = scattered(pair) >> hash_shift_;
    while (rules_[slot].pair != kNoPair && rules_[slot].pair != pair) slot = (slot + 1) & (size - 1);
    rules_[slot] = {pair, static_cast<std::int32_t>(rank), merge.merged};
  }
}

const Bpe::Rule* Bpe::rule_of(std::uint64_t pair) const {
  std::size_t slot = scattered(pair) >> hash_shift_;
  while (rules_[slot].pair != kNoPair) {
    if (rules_[slot].pair == pair) return &rules_[slot];
    slot = (slot + 1) & (rules_.size() - 1);
  }
  return nullptr;
}

void Bpe::append(std::string_view word, std::vector<std::int32_t>& ids) {
  const auto size = static_cast<std::int32_t>(word.size());
  symbols_.clear();
  heap_.clear();
  for (std::int32_t i = 0; i < size; ++i) {
    const std::int32_t id = byte_ids_[static_cast<unsigned char>(word[static_cast<std::size_t>(i)])];
    symbols_.push_back({id, i - 1, i + 1 < size ? i + 1 : kNone});
  }
  for (std::int32_t i = 0; i + 1 < size; ++i) consider(i);
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.place > b.place;
  };
  // consider() only appends; what it appended is put in order here.
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Candidate best = heap_.back();
    heap_.pop_back();
    const std::size_t before = heap_.size();
    merge(best);
    for (std::size_t i = before; i < heap_.size(); ++i) {
      std::push_heap(heap_.begin(), heap_.begin() + static_cast<std::ptrdiff_t>(i) + 1, later);
    }
  }
  for (const Symbol& symbol : symbols_) {
    if (symbol.id != kGone) ids.push_back(symbol.id);
  }
}

void Bpe::consider(std::int32_t place) {
  const Symbol& left = symbols_[static_cast<std::size_t>(place)];
  const std::uint64_t pair = pair_of(left.id, symbols_[static_cast<std::size_t>(left.next)].id);
  if (const Rule* rule = rule_of(pair)) heap_.push_back({rule->rank, place, pair, rule->merged});
}

void Bpe::merge(const Candidate& candidate) {
  Symbol& left = symbols_[static_cast<std::size_t>(candidate.place)];
  if (left.id == kGone || left.next == kNone) return;
  Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
  if (pair_of(left.id, right.id) != candidate.pair) return;  // one of them has merged since
  left.id = candidate.merged;
  left.next = right.next;
  right.id = kGone;
  if (left.next != kNone) {
    symbols_[static_cast<std::size_t>(left.next)].previous = candidate.place;
    consider(candidate.place);
  }
  if (left.previous != kNone) consider(left.previous);
}

}  // namespace shardline
