#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "kernels/attention.h"
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
static_assert(kKeyBlock % kTileColumns<float> == 0 && kKeyBlock % kLanes == 0);
template <class T>
inline constexpr Index kKeyDistance = row_distance<T>(kKeyBlock);

/// The extents of a call, and the places of the rows of one key-value head of one sequence.
struct Heads {
  Index B, T, S, K, G, H;
  AttentionOptions options;

  Index key_stride() const { return K * H; }
  Index query_rows() const { return B * T * K * G; }
  Index head_rows() const { return T * G; }
  /// The place of a row among the rows of all key-value heads.
  Index row_place(Index row) const { return row / G * K * G + row % G; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(H)); }

  /// The number of keys that query `t` sees; they are the first ones.
  Index visible(Index t) const { return std::clamp<Index>(options.query_begin + t + 1 - options.key_begin, 0, S); }
  /// How many of `keys` the row `row` sees; they are the first ones.
  Index visible(Index row, Range keys) const {
    return std::clamp<Index>(visible(row / G) - keys.begin, 0, keys.size());
  }
  /// The first row that sees key `s`.
  Index first_seeing(Index s) const { return G * std::clamp<Index>(options.key_begin + s - options.query_begin, 0, T); }
};

/// Throws Error if the shapes of q and k do not match.
Heads check_heads(const Shape& q, const Shape& k, const AttentionOptions& options);
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
void for_each_head(const Heads& heads, Body&& body) {
  for (Index b = 0; b < heads.B; ++b) {
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
    copy_numbers(from + (keys.begin + s) * heads.key_stride(), heads.H, row_of(block, s));
  }
}

template <class S, class T>
void take_keys_transposed(const Heads& heads, const S* from, Range keys, Block<T>& block) {
  transpose(from + keys.begin * heads.key_stride(), heads.key_stride(), keys.size(), heads.H, block.data(),
            kKeyDistance<T>);
}

/// The scores of a tile of rows. More generally: products of rows of H numbers with transposed
/// keys.
template <class T>
void multiply_keys(const Heads& heads, const T* rows, Index width, const Block<T>& transposed, Index keys, T* scores) {
  multiply_tiles<TileResult::set, T>({.depth = heads.H,
                                      .columns = keys,
                                      .a = rows,
                                      .a_row = width,
                                      .b = transposed.data(),
                                      .b_row = kKeyDistance<T>,
                                      .c = scores,
                                      .c_row = kKeyDistance<T>});
}

}  // namespace shardline::kernels
