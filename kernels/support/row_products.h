#pragma once

#include "kernels/support/vectors.h"

/// Products of a few packed rows with rows that come from memory: either with each of them (DotProducts), or with their
/// sum under weights (WeightedRows). Each row from memory is read once for all packed rows. A sum depends on its own
/// rows only, bit for bit, not on how many other rows are multiplied with it. Only kernel sources include this header.
namespace shardline::kernels {

/// Packed rows lie in f32 or f64 in blocks of so many elements, and are filled up with zeros. A block of bf16 has its
/// even elements first, then its odd ones: so two of them are widened by one instruction each, without a shuffle.
inline constexpr Index kPackedBlock = 32;
/// Rows from memory that one call takes at most.
inline constexpr Index kRowsAtOnce = 16;

constexpr Index packed_length(Index length) { return (length + kPackedBlock - 1) / kPackedBlock * kPackedBlock; }

/// Where element `i` of a row of S lies in its packed form.
template <class S>
constexpr Index packed_place(Index i) {
  if constexpr (std::is_same_v<S, BFloat16>) {
    const Index within = i % kPackedBlock;
    return i - within + within % 2 * (kPackedBlock / 2) + within / 2;
  } else {
    return i;
  }
}

/// Packs `count` elements of F that are `step` apart, times `scale`, into a row beside rows of S.
template <class S, class F>
void pack_row(const F* from, Index step, Index count, SumOf<S> scale, SumOf<S>* to) {
  for (Index i = 0; i < count; ++i) to[packed_place<S>(i)] = scale * static_cast<SumOf<S>>(from[i * step]);
  for (Index i = count; i < packed_length(count); ++i) to[packed_place<S>(i)] = 0;
}

/// sums[i, r] = the product of packed row i with row r.
template <class S>
struct DotProducts {
  using Sum = SumOf<S>;
  const Sum* x = nullptr;
  Index x_row = 0, x_rows = 0;     ///< elements between packed rows, and how many these are
  const S* const* rows = nullptr;  ///< kRowsAtOnce pointers
  Index count = 0;                 ///< of `rows` that are needed; the others are perhaps read too
  Index length = 0;                ///< of a row
  Sum* sums = nullptr;             ///< room for kRowsAtOnce sums of each packed row
  Index sums_row = 0;
  Sum* partial = nullptr;           ///< sums by lane, see partial_sums(), if the rows come in several parts
  bool begins = true, ends = true;  ///< this part of the rows is the first, or the last: `sums` are complete
  Index ahead = 0;                  ///< elements from what is read to what should come into the caches; 0 for nothing

  template <Index bytes>
  [[gnu::always_inline]] inline void run() const;
};

/// Elements of DotProducts::partial.
template <class S>
constexpr Index partial_sums(Index x_rows) {
  constexpr Index kWidest = 64;  // bytes of a vector
  return x_rows * kRowsAtOnce * kWidest / static_cast<Index>(sizeof(SumOf<S>));
}

/// c[i] += the sum of weights[i, r] times row r, in the order of the rows. `c` is packed.
template <class S>
struct WeightedRows {
  using Sum = SumOf<S>;
  const Sum* weights = nullptr;
  Index weights_row = 0, c_rows = 0;
  const S* const* rows = nullptr;
  Index count = 0;  ///< of `rows`, at most kRowsAtOnce
  Index length = 0;
  Sum* c = nullptr;
  Index c_row = 0;
  Index ahead = 0;  ///< as in DotProducts

  template <Index bytes>
  [[gnu::always_inline]] inline void run() const;
};

/// Sums that are in registers at a time: half of the registers.
template <Index bytes>
inline constexpr Index kSums = bytes == 64 ? 16 : 8;

/// The largest power of two that is at most `value`.
constexpr Index power_below(Index value) { return value < 2 ? 1 : 2 * power_below(value / 2); }

/// A vector from any address.
template <class Vector, class T>
[[gnu::always_inline]] inline Vector load_vector(const T* from) {
  // An alias declaration cannot carry the attributes.
  typedef Vector Anywhere __attribute__((aligned(alignof(T)), may_alias));  // NOLINT(modernize-use-using)
  Vector vector = *reinterpret_cast<const Anywhere*>(from);
#if defined(__x86_64__)
  asm("" : "+v"(vector));  // now it is in a register; GCC else reads it from memory again for each of its uses
#endif
  return vector;
}

/// Two vectors of neighbouring elements, in the order of packed blocks.
template <Index bytes, class S, class Vector>
[[gnu::always_inline]] inline void load_pair(const S* from, Vector& first, Vector& second) {
  if constexpr (std::is_same_v<S, BFloat16>) {
    using Words = typename VectorOf<std::uint32_t, bytes>::Type;
    const Words words = load_vector<Words>(from);
    first = reinterpret_cast<Vector>(words << 16U);
    second = reinterpret_cast<Vector>(words & 0xFFFF0000U);
  } else {
    first = load_vector<Vector>(from);
    second = load_vector<Vector>(from + VectorOf<S, bytes>::kLanes);
  }
}

/// Where the vectors of pair `number` of a row begin in its packed form.
template <Index bytes, class S>
struct PairPlaces {
  static constexpr Index kLanes = VectorOf<SumOf<S>, bytes>::kLanes, kElements = 2 * kLanes;
  static constexpr Index kInBlock = kPackedBlock / kElements;
  static constexpr Index kSecond = std::is_same_v<S, BFloat16> ? kPackedBlock / 2 : kLanes;
  static constexpr Index first(Index number) {
    if constexpr (!std::is_same_v<S, BFloat16>) return number * kElements;
    return number / kInBlock * kPackedBlock + number % kInBlock * kLanes;
  }
};

template <class S>
[[gnu::always_inline]] inline void prefetch(const S* from, Index elements) {
  constexpr Index kLine = 64 / static_cast<Index>(sizeof(S));
#pragma GCC unroll 4
  for (Index i = 0; i < elements; i += kLine) __builtin_prefetch(from + i, 0, 2);
}

/// For two vectors cut into blocks of `size` lanes: the even blocks become the sums of a's pairs of neighbouring
/// blocks, and the odd ones those of b's pairs.
template <Index size, class Vector, Index... lanes>
[[gnu::always_inline]] inline void add_blocks(Vector& a, const Vector& b,
                                              std::integer_sequence<Index, lanes...> /*lanes*/) {
  constexpr Index kWidth = sizeof...(lanes);
  const Vector kept = __builtin_shufflevector(a, b, ((lanes & size) == 0 ? lanes : kWidth + lanes)...);
  const Vector crossed = __builtin_shufflevector(a, b, ((lanes & size) == 0 ? lanes + size : kWidth + lanes - size)...);
  a = kept + crossed;
}

/// Lane i of all[0] becomes the sum of the lanes of all[i], if `half` is half of the lanes.
template <Index half, class Vector, std::size_t width>
[[gnu::always_inline]] inline void sum_each(Vector (&all)[width]) {
#pragma GCC unroll 8
  for (Index i = 0; i < half; ++i) {
    add_blocks<half>(all[i], all[i + half], std::make_integer_sequence<Index, static_cast<Index>(width)>());
  }
  if constexpr (half > 1) sum_each<half / 2>(all);
}

/// The products of `group` packed rows with some rows from memory.
template <Index bytes, Index group, class S>
struct DotTile {
  using Sum = SumOf<S>;
  using Vector = typename VectorOf<Sum, bytes>::Type;
  using Places = PairPlaces<bytes, S>;
  static constexpr Index kRows = std::min<Index>(8, power_below(kSums<bytes> / group)), kLanes = Places::kLanes;
  static constexpr Index kCount = group * kRows, kPadded = (kCount + kLanes - 1) / kLanes * kLanes;

  [[gnu::always_inline]] static inline void add_block(Vector (&sum)[kPadded], const Sum* x, Index x_row,
                                                      const S* const (&rows)[kRows], Index at) {
#pragma GCC unroll 8
    for (Index pair = 0; pair < Places::kInBlock; ++pair) {
      const Sum* const part = x + Places::first(pair);
      if constexpr (group < kRows) {
        Vector first[group], second[group];
#pragma GCC unroll 16
        for (Index i = 0; i < group; ++i) {
          first[i] = load_vector<Vector>(part + i * x_row);
          second[i] = load_vector<Vector>(part + i * x_row + Places::kSecond);
        }
#pragma GCC unroll 16
        for (Index r = 0; r < kRows; ++r) {
          Vector a, b;
          load_pair<bytes>(rows[r] + at + pair * Places::kElements, a, b);
#pragma GCC unroll 16
          for (Index i = 0; i < group; ++i) sum[i * kRows + r] += a * first[i];
#pragma GCC unroll 16
          for (Index i = 0; i < group; ++i) sum[i * kRows + r] += b * second[i];
        }
      } else {
        Vector first[kRows], second[kRows];
#pragma GCC unroll 16
        for (Index r = 0; r < kRows; ++r) {
          load_pair<bytes>(rows[r] + at + pair * Places::kElements, first[r], second[r]);
        }
#pragma GCC unroll 16
        for (Index i = 0; i < group; ++i) {
          const Vector a = load_vector<Vector>(part + i * x_row);
#pragma GCC unroll 16
          for (Index r = 0; r < kRows; ++r) sum[i * kRows + r] += a * first[r];
        }
#pragma GCC unroll 16
        for (Index i = 0; i < group; ++i) {
          const Vector b = load_vector<Vector>(part + i * x_row + Places::kSecond);
#pragma GCC unroll 16
          for (Index r = 0; r < kRows; ++r) sum[i * kRows + r] += b * second[r];
        }
      }
    }
  }

  /// `from` is the first packed row, and `row` the first of the rows from memory.
  [[gnu::always_inline]] static inline void run(const DotProducts<S>& p, Index from, Index row, Index ahead) {
    const S* rows[kRows];
#pragma GCC unroll 16
    for (Index r = 0; r < kRows; ++r) rows[r] = p.rows[row + r];
    Vector sum[kPadded] = {};
    Sum* const partial = p.partial + (from * kRowsAtOnce + row * group) * kLanes;
    if (!p.begins) {
#pragma GCC unroll 16
      for (Index i = 0; i < kCount; ++i) std::memcpy(&sum[i], partial + i * kLanes, bytes);
    }
    const Sum* const x = p.x + from * p.x_row;
    Index at = 0;
    for (; at + kPackedBlock <= p.length; at += kPackedBlock) {
      if (ahead != 0) {
#pragma GCC unroll 16
        for (Index r = 0; r < kRows; ++r) prefetch(rows[r] + at + ahead, kPackedBlock);
      }
      add_block(sum, x + at, p.x_row, rows, at);
    }
    if (at < p.length) {
      S ends[kRows][kPackedBlock] = {};
      const S* tails[kRows];
      for (Index r = 0; r < kRows; ++r) {
        std::copy_n(rows[r] + at, p.length - at, ends[r]);
        tails[r] = ends[r];
      }
      add_block(sum, x + at, p.x_row, tails, 0);
    }
    if (!p.ends) {
#pragma GCC unroll 16
      for (Index i = 0; i < kCount; ++i) std::memcpy(partial + i * kLanes, &sum[i], bytes);
      return;
    }
    Sum sums[kPadded];
#pragma GCC unroll 16
    for (Index i = 0; i < kPadded; i += kLanes) {
      Vector some[kLanes];
#pragma GCC unroll 16
      for (Index j = 0; j < kLanes; ++j) some[j] = sum[i + j];
      sum_each<kLanes / 2>(some);
      std::memcpy(sums + i, &some[0], bytes);
    }
#pragma GCC unroll 16
    for (Index i = 0; i < group; ++i) {
      std::memcpy(p.sums + (from + i) * p.sums_row + row, sums + i * kRows, kRows * sizeof(Sum));
    }
  }
};

/// Packed rows that are multiplied together at most.
template <Index bytes>
inline constexpr Index kGroup = kSums<bytes> / 2;

/// Calls tiles with `count` packed rows from `from` on.
template <Index bytes, Index group, class S>
[[gnu::always_inline]] inline void run_dot_tiles(const DotProducts<S>& p, Index from, Index count) {
  if constexpr (group > 1) {
    if (count < group) return run_dot_tiles<bytes, group - 1>(p, from, count);
  }
  using Tile = DotTile<bytes, group, S>;
  for (Index row = 0; row < p.count; row += Tile::kRows) Tile::run(p, from, row, from == 0 ? p.ahead : 0);
}

/// The extent of a group where `count` packed rows are cut into as few groups as possible.
template <Index bytes>
constexpr Index even_group(Index count) {
  const Index groups = std::max<Index>(1, (count + kGroup<bytes> - 1) / kGroup<bytes>);
  return std::max<Index>(1, (count + groups - 1) / groups);
}

template <class S>
template <Index bytes>
[[gnu::always_inline]] inline void DotProducts<S>::run() const {
  const Index group = even_group<bytes>(x_rows);
  for (Index from = 0; from < x_rows; from += group) {
    run_dot_tiles<bytes, kGroup<bytes>>(*this, from, std::min(group, x_rows - from));
  }
}

/// Some columns of `group` sums under weights.
template <Index bytes, Index group, Index pairs, class S>
struct WeightedTile {
  using Sum = SumOf<S>;
  using Vector = typename VectorOf<Sum, bytes>::Type;
  using Places = PairPlaces<bytes, S>;

  /// `at` is the first column in `rows`, and `pair` its number in `c`.
  [[gnu::always_inline]] static inline void run(const WeightedRows<S>& p, Index from, const S* const* rows, Index at,
                                                Index pair, Index ahead) {
    Sum* const c = p.c + from * p.c_row;
    const Sum* const weights = p.weights + from * p.weights_row;
    Vector first[group][pairs], second[group][pairs];
#pragma GCC unroll 16
    for (Index j = 0; j < pairs; ++j) {
      const Index place = Places::first(pair + j);
#pragma GCC unroll 16
      for (Index i = 0; i < group; ++i) {
        std::memcpy(&first[i][j], c + i * p.c_row + place, bytes);
        std::memcpy(&second[i][j], c + i * p.c_row + place + Places::kSecond, bytes);
      }
    }
    for (Index r = 0; r < p.count; ++r) {
      const S* const row = rows[r] + at;
      if (ahead != 0) prefetch(row + ahead, pairs * Places::kElements);
      Vector a[pairs], b[pairs];
#pragma GCC unroll 16
      for (Index j = 0; j < pairs; ++j) load_pair<bytes>(row + j * Places::kElements, a[j], b[j]);
#pragma GCC unroll 16
      for (Index i = 0; i < group; ++i) {
        const Sum weight = weights[i * p.weights_row + r];
#pragma GCC unroll 16
        for (Index j = 0; j < pairs; ++j) {
          first[i][j] += weight * a[j];
          second[i][j] += weight * b[j];
        }
      }
    }
#pragma GCC unroll 16
    for (Index j = 0; j < pairs; ++j) {
      const Index place = Places::first(pair + j);
#pragma GCC unroll 16
      for (Index i = 0; i < group; ++i) {
        std::memcpy(c + i * p.c_row + place, &first[i][j], bytes);
        std::memcpy(c + i * p.c_row + place + Places::kSecond, &second[i][j], bytes);
      }
    }
  }
};

/// Columns from `at` to `end`, in tiles of `pairs` and then in smaller ones. They lie in `rows` from `shift` elements
/// before where they lie in `c`.
template <Index bytes, Index group, Index pairs, class S>
[[gnu::always_inline]] inline void run_columns(const WeightedRows<S>& p, Index from, const S* const* rows, Index at,
                                               Index end, Index shift, Index ahead) {
  constexpr Index kElements = PairPlaces<bytes, S>::kElements;
  for (; at + pairs * kElements <= end; at += pairs * kElements) {
    WeightedTile<bytes, group, pairs, S>::run(p, from, rows, at - shift, at / kElements, ahead);
  }
  if constexpr (pairs > 1) run_columns<bytes, group, pairs / 2>(p, from, rows, at, end, shift, ahead);
}

template <Index bytes, Index group, class S>
[[gnu::always_inline]] inline void run_weighted_tiles(const WeightedRows<S>& p, Index from, Index count) {
  if constexpr (group > 1) {
    if (count < group) return run_weighted_tiles<bytes, group - 1>(p, from, count);
  }
  constexpr Index kPairs = power_below(kSums<bytes> / 2 / group);
  const Index whole = p.length / kPackedBlock * kPackedBlock;
  run_columns<bytes, group, kPairs>(p, from, p.rows, 0, whole, 0, from == 0 ? p.ahead : 0);
  if (whole == p.length) return;
  S ends[kRowsAtOnce][kPackedBlock] = {};
  const S* tails[kRowsAtOnce];
  for (Index r = 0; r < p.count; ++r) {
    std::copy_n(p.rows[r] + whole, p.length - whole, ends[r]);
    tails[r] = ends[r];
  }
  run_columns<bytes, group, 1>(p, from, tails, whole, whole + kPackedBlock, whole, 0);
}

template <class S>
template <Index bytes>
[[gnu::always_inline]] inline void WeightedRows<S>::run() const {
  const Index group = even_group<bytes>(c_rows);
  for (Index from = 0; from < c_rows; from += group) {
    run_weighted_tiles<bytes, kGroup<bytes>>(*this, from, std::min(group, c_rows - from));
  }
}

}  // namespace shardline::kernels
