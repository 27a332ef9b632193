#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/support/vectors.h"

/// Rows in a form that suits the vectors of the processor, whatever their width, and how they are multiplied in groups.
/// Only kernel sources include this header.
namespace shardline::kernels {

/// Packed rows lie in blocks of so many elements, and are filled up with zeros.
inline constexpr Index kPackedBlock = 32;

constexpr Index packed_length(Index length) { return (length + kPackedBlock - 1) / kPackedBlock * kPackedBlock; }

/// The type of packed rows to multiply with rows of S: that of sums, or bf16 if the processor multiplies it.
template <class S>
using Packed = std::conditional_t<std::is_same_v<S, BFloat16> && kMultipliesPairs, BFloat16, SumOf<S>>;

/// Where element `i` of a row of S lies in a packed row of its sums. A block of bf16 has its even elements first, then
/// its odd ones: so two of them are widened by one instruction each, without a shuffle.
template <class S>
constexpr Index packed_place(Index i) {
  if constexpr (std::is_same_v<S, BFloat16>) {
    const Index within = i % kPackedBlock;
    return i - within + within % 2 * (kPackedBlock / 2) + within / 2;
  } else {
    return i;
  }
}

/// Packs `count` elements that are `step` apart, to multiply them with rows of S.
template <class S>
void pack_row(const S* from, Index step, Index count, Packed<S>* to) {
  constexpr bool kSame = std::is_same_v<Packed<S>, S>;
  const auto place = [](Index i) { return kSame ? i : packed_place<S>(i); };
  for (Index i = 0; i < count; ++i) to[place(i)] = static_cast<Packed<S>>(from[i * step]);
  for (Index i = count; i < packed_length(count); ++i) to[place(i)] = Packed<S>();
}

/// Calls take(i, element) for the first `count` elements of a packed row of sums.
template <class S, class Take>
[[gnu::always_inline]] inline void unpack_row(const SumOf<S>* row, Index count, Take&& take) {
  constexpr Index kHalf = kPackedBlock / 2;
  const Index whole = std::is_same_v<S, BFloat16> ? count / kPackedBlock * kPackedBlock : 0;
  for (Index block = 0; block < whole; block += kPackedBlock) {
    for (Index i = 0; i < kHalf; ++i) {
      take(block + 2 * i, row[block + i]);
      take(block + 2 * i + 1, row[block + kHalf + i]);
    }
  }
  for (Index i = whole; i < count; ++i) take(i, row[packed_place<S>(i)]);
}

/// Where the two vectors of pair `number` of a row begin in a packed row of sums.
template <Index bytes, class S>
struct PairPlaces {
  static constexpr bool kSplit = std::is_same_v<S, BFloat16>;
  static constexpr Index kLanes = VectorOf<SumOf<S>, bytes>::kLanes, kElements = 2 * kLanes;
  static constexpr Index kInBlock = kPackedBlock / kElements;
  static constexpr Index kSecond = kSplit ? kPackedBlock / 2 : kLanes;
  static constexpr Index first(Index number) {
    return kSplit ? number / kInBlock * kPackedBlock + number % kInBlock * kLanes : number * kElements;
  }
};

/// Two vectors of neighbouring elements, in the order of packed rows of sums.
template <Index bytes, class S, class Vector>
[[gnu::always_inline]] inline void load_pair(const S* from, Vector& first, Vector& second) {
  if constexpr (std::is_same_v<S, BFloat16>) {
    PairsOf<bytes> words;
    load_vector(from, words);
    first = reinterpret_cast<Vector>(words << 16U);
    second = reinterpret_cast<Vector>(words & 0xFFFF0000U);
  } else {
    load_vector(from, first);
    load_vector(from + VectorOf<S, bytes>::kLanes, second);
  }
}

/// Sums that are in registers at a time: half of the registers.
template <Index bytes>
inline constexpr Index kSums = bytes == 64 ? 16 : 8;
/// The largest power of two that is at most `value`.
constexpr Index power_below(Index value) { return value < 2 ? 1 : 2 * power_below(value / 2); }

/// The extent of a group where `count` packed rows are cut into as few groups as possible, of `most` rows at most.
constexpr Index even_group(Index count, Index most) {
  const Index groups = std::max<Index>(1, (count + most - 1) / most);
  return std::max<Index>(1, (count + groups - 1) / groups);
}

}  // namespace shardline::kernels
