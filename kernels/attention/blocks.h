#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "kernels/attention/sight.h"
#include "kernels/einsum/tile_product.h"
#include "kernels/support/lanes.h"
#include "kernels/support/transpose.h"

/// Shared by the forward and the backward pass of attention: how arrays are cut into blocks, and
/// the blocks. Only their sources include this header.
namespace shardline::kernels {

/// Rows and keys of a block. A row is one query of one head. The rows of the G heads of a key-value
/// head are neighbours, position by position, so one product covers all heads that a key serves.
/// The operands of a block stay in the L2 cache. All extents are multiples of tile rows, those of
/// keys also of tile columns and kLanes. 256 rows, a usual length of short sequences, are one block.
inline constexpr Index kRowBlock = 264;
inline constexpr Index kGradRowBlock = 96;
inline constexpr Index kKeyBlock = 192;
static_assert(kRowBlock % kTileRows == 0 && kGradRowBlock % kTileRows == 0 && kKeyBlock % kTileRows == 0);
static_assert(kKeyBlock % kLanes == 0 && kLanes % kTileColumns<float> == 0);
template <class T>
inline constexpr Index kKeyDistance = row_distance<T>(kKeyBlock);

/// `seen`, counted from the first of `keys`. {0, 0} if it is empty.
inline Range counted_from(Range keys, Range seen) {
  return seen.size() == 0 ? Range{} : Range{seen.begin - keys.begin, seen.end - keys.begin};
}

/// The extents of a call, and the places of the rows and keys of one key-value head of one sequence. Rows and keys go
/// by number, in ascending order of their positions (see Sight).
struct Heads {
  Index B = 0, T = 0, S = 0, K = 0, G = 0, H = 0;
  Sight sight;

  Index key_stride() const { return K * H; }
  Index query_rows() const { return B * T * K * G; }
  Index head_rows() const { return T * G; }
  /// The place of a row among the rows of all key-value heads.
  Index row_place(Index row) const { return sight.query(row / G) * K * G + row % G; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(H)); }

  /// The queries that some of `rows` belong to.
  Range queries(Range rows) const { return {rows.begin / G, (rows.end + G - 1) / G}; }
  /// The keys among `keys` that a row sees, counted from the first of `keys`. {0, 0} if there are none.
  Range seen(Index row, Range keys) const { return counted_from(keys, sight.seen(row / G, keys)); }
  /// The same from the first to the last that one of `rows` sees.
  Range seen(Range rows, Range keys) const { return counted_from(keys, sight.seen(queries(rows), keys)); }
  /// The rows among `rows` from the first to the last that see one of `keys`; empty if there are none.
  Range seeing(Range rows, Range keys) const {
    if (rows.size() == 0) return {rows.begin, rows.begin};  // perhaps there are no heads
    const Range found = sight.seeing(queries(rows), keys);
    const Index begin = std::max(rows.begin, found.begin * G);
    return {begin, std::max(begin, std::min(rows.end, found.end * G))};
  }
};

/// `seen` from the begin of a piece of kLanes on, so also from that of a tile.
inline Range window_of(Range seen) { return {seen.begin / kLanes * kLanes, seen.end}; }

/// Throws Error if the shapes of q, k and `places` do not match.
Heads check_heads(const Shape& q, const Shape& k, const AttentionPlaces& places);
/// Throws Error unless the array `name` has the expected shape.
void check_attention_shape(const char* name, const Shape& shape, const Shape& expected);
/// Checks v, o and lse.
void check_forward(const Heads& heads, const Shape& q, const Shape& k, const Shape& v, const Shape& o,
                   const Shape& lse);

/// Where one key-value head of one sequence begins in the arrays.
struct HeadOffsets {
  Index query;  ///< in [B, T, K, G, H]
  Index key;    ///< in [B, S, K, H]
  Index row;    ///< in [B, T, K, G]
};

template <class Body>
void for_each_head(Heads& heads, Body&& body) {
  for (Index b = 0; b < heads.B; ++b) {
    heads.sight.enter(b);
    for (Index k = 0; k < heads.K; ++k) {
      const Index row = (b * heads.T * heads.K + k) * heads.G;
      body(HeadOffsets{row * heads.H, (b * heads.S * heads.K + k) * heads.H, row});
    }
  }
}

/// A block copied out of the arrays: rows of H numbers, padded with zeros to whole tiles; or its
/// transpose.
template <class T>
using Block = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
Block<T> zero_block(Index rows, Index columns) {
  return Block<T>::Zero(rows, row_distance<T>(columns));
}

template <class T>
T* row_of(Block<T>& block, Index row) {
  return block.data() + row * block.cols();
}
template <class T>
const T* row_of(const Block<T>& block, Index row) {
  return block.data() + row * block.cols();
}

/// The rows of a query array, times `scale`.
template <class S, class T>
void take_rows(const Heads& heads, const S* queries, Range rows, T scale, Block<T>& block) {
  for (Index r = 0; r < rows.size(); ++r) {
    const S* from = queries + heads.row_place(rows.begin + r) * heads.H;
    T* to = row_of(block, r);
    for (Index h = 0; h < heads.H; ++h) to[h] = scale * static_cast<T>(from[h]);
  }
}

/// Copies `count` numbers, and widens or rounds them if the types differ.
template <class From, class To>
void copy_numbers(const From* from, Index count, To* to) {
  for (Index i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

template <class S, class T>
void take_keys(const Heads& heads, const S* from, Range keys, Block<T>& block) {
  for (Index s = 0; s < keys.size(); ++s) {
    copy_numbers(from + heads.sight.key(keys.begin + s) * heads.key_stride(), heads.H, row_of(block, s));
  }
}

/// Transposes keys that are neighbours in the array together.
template <class S, class T>
void take_keys_transposed(const Heads& heads, const S* from, Range keys, Block<T>& block) {
  for (Index s = keys.begin; s < keys.end;) {
    const Index end = heads.sight.end_of_stretch(s, keys.end);
    transpose(from + heads.sight.key(s) * heads.key_stride(), heads.key_stride(), end - s, heads.H,
              block.data() + (s - keys.begin), kKeyDistance<T>);
    s = end;
  }
}

/// The scores of a tile of rows for the columns `keys` of the block. More generally: products of rows of H numbers with
/// transposed keys. `keys` begins with a tile.
template <class T>
void multiply_keys(const Heads& heads, const T* rows, Index width, const Block<T>& transposed, Range keys, T* scores) {
  multiply_tiles<TileResult::set, T>({.depth = heads.H,
                                      .columns = keys.size(),
                                      .a = rows,
                                      .a_row = width,
                                      .b = transposed.data() + keys.begin,
                                      .b_row = kKeyDistance<T>,
                                      .c = scores + keys.begin,
                                      .c_row = kKeyDistance<T>});
}

}  // namespace shardline::kernels
