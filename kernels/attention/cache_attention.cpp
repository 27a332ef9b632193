#include "kernels/attention/cache_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/attention/cache_blocks.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

void check_shape(const char* name, const Shape& shape, const Shape& expected) {
  SHARDLINE_CHECK(shape == expected, "attention over a cache: {} has shape {}, not {}", name, to_string(shape),
                  to_string(expected));
}

/// Queries [B, T, K, G, H] over a cache [B, S, K, H].
CacheExtents check_extents(const Shape& q, const Shape& cache) {
  SHARDLINE_CHECK(q.size() == 5, "attention over a cache: the queries have shape {}, not [B, T, K, G, H]",
                  to_string(q));
  SHARDLINE_CHECK(cache.size() == 4, "attention over a cache: the cache has shape {}, not [B, S, K, H]",
                  to_string(cache));
  SHARDLINE_CHECK(q[0] == cache[0] && q[2] == cache[2] && q[4] == cache[3],
                  "attention over a cache: the queries {} and the cache {} differ in B, K or H", to_string(q),
                  to_string(cache));
  return {.B = q[0], .T = q[1], .S = cache[1], .K = q[2], .G = q[3], .H = q[4]};
}

/// The largest score of a row, or `start`. A NaN may get lost here, but its weight is still NaN.
template <class T>
T largest_score(const T* scores, T start) {
  std::array<T, kLanes> largest;
  largest.fill(start);
  for (Index s = 0; s < kPlaceBlock; s += kLanes) {
    for (Index i = 0; i < kLanes; ++i) {
      T& lane = largest[static_cast<std::size_t>(i)];
      lane = std::max(lane, scores[s + i]);
    }
  }
  return *std::max_element(largest.begin(), largest.end());
}

/// Turns the scores of a row into exp(score - largest). Returns their sum.
template <class T>
T weigh_scores(T* scores, T largest) {
  Lanes<T> sum = Lanes<T>::Zero();
  for (Index s = 0; s < kPlaceBlock; s += kLanes) {
    const Lanes<T> weight = exp_lanes<T>(load(scores + s, FullCount()) - largest);
    store(weight, scores + s, FullCount());
    sum += weight;
  }
  return sum.sum();
}

/// Online softmax of one block of places: scores become weights, and what was summed so far shrinks to new maxima.
template <class T>
void soften(CacheBlocks<T>& blocks, Range numbers) {
  using Sum = SumOf<T>;
  blocks.for_each_row(numbers, [&](Index row, Index seen) {
    Sum* const scores = blocks.scores(row);
    std::fill(scores + seen, scores + kPlaceBlock, std::numeric_limits<Sum>::lowest());
    Sum& former = blocks.largest(row);
    const Sum largest = largest_score(scores, former), shrink = vector_exp(former - largest);
    blocks.sum(row) = blocks.sum(row) * shrink + weigh_scores(scores, largest);
    former = largest;
    if (shrink == Sum(1)) return;
    Sum* const values = blocks.values(row);
    for (Index h = 0; h < blocks.width(); ++h) values[h] *= shrink;
  });
}

/// Element by element: values / sum, or 0.
template <class T>
void divide_row(const SumOf<T>* values, Index width, SumOf<T> sum, T* o) {
  for (Index h = 0; h < width; ++h) o[h] = static_cast<T>(sum == 0 ? SumOf<T>(0) : values[h] / sum);
}

}  // namespace

template <class T>
void cache_attention(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, const CachePlaces& places,
                     View<T> o_BTKGH) {
  const CacheExtents extents = check_extents(q_BTKGH.shape, k_BSKH.shape);
  check_shape("v", v_BSKH.shape, k_BSKH.shape);
  check_shape("o", o_BTKGH.shape, q_BTKGH.shape);
  CacheBlocks<T> blocks(extents, places);
  std::vector<SumOf<T>> values(static_cast<std::size_t>(extents.H));
  for (CacheQueries queries = blocks.first(); blocks.enter(queries); queries = blocks.next(queries)) {
    blocks.take_queries(q_BTKGH.data);
    blocks.clear();
    blocks.for_each_block([&](Range numbers) {
      blocks.score(k_BSKH.data, numbers);
      soften(blocks, numbers);
      blocks.weigh(v_BSKH.data, numbers);
    });
    blocks.for_each_row([&](Index row, Index place) {
      blocks.copy_values(row, values.data());
      divide_row(values.data(), extents.H, blocks.sum(row), o_BTKGH.data + place * extents.H);
    });
  }
}

template <class T>
void cache_scores(View<const T> q_BTKGH, View<const T> k_BSKH, const CachePlaces& places, View<SumOf<T>> s_BTKGS,
                  View<SumOf<T>> max_BTKG) {
  using Sum = SumOf<T>;
  const CacheExtents extents = check_extents(q_BTKGH.shape, k_BSKH.shape);
  check_shape("s", s_BTKGS.shape, {extents.B, extents.T, extents.K, extents.G, extents.S});
  check_shape("max", max_BTKG.shape, {extents.B, extents.T, extents.K, extents.G});
  CacheBlocks<T> blocks(extents, places);
  for (CacheQueries queries = blocks.first(); blocks.enter(queries); queries = blocks.next(queries)) {
    blocks.take_queries(q_BTKGH.data);
    blocks.clear();
    blocks.for_each_block([&](Range numbers) {
      blocks.score(k_BSKH.data, numbers);
      blocks.for_each_row(numbers, [&](Index row, Index seen) {
        const Sum* const scores = blocks.scores(row);
        Sum* const s = s_BTKGS.data + blocks.row_place(row) * extents.S;
        Sum& largest = blocks.largest(row);
        for (Index i = 0; i < seen; ++i) {
          s[blocks.place(numbers.begin + i)] = scores[i];
          largest = std::max(largest, scores[i]);
        }
      });
    });
    blocks.for_each_row([&](Index row, Index place) { max_BTKG[place] = blocks.largest(row); });
  }
}

template <class T>
void cache_weigh(View<const SumOf<T>> s_BTKGS, View<const T> v_BSKH, View<const SumOf<T>> max_BTKG,
                 const CachePlaces& places, View<SumOf<T>> w_BTKGH, View<SumOf<T>> sum_BTKG) {
  using Sum = SumOf<T>;
  const CacheExtents extents = check_extents(w_BTKGH.shape, v_BSKH.shape);
  check_shape("s", s_BTKGS.shape, {extents.B, extents.T, extents.K, extents.G, extents.S});
  check_shape("max", max_BTKG.shape, {extents.B, extents.T, extents.K, extents.G});
  check_shape("sum", sum_BTKG.shape, max_BTKG.shape);
  CacheBlocks<T> blocks(extents, places);
  for (CacheQueries queries = blocks.first(); blocks.enter(queries); queries = blocks.next(queries)) {
    blocks.clear();
    blocks.for_each_block([&](Range numbers) {
      blocks.for_each_row(numbers, [&](Index row, Index seen) {
        Sum* const scores = blocks.scores(row);
        const Index place = blocks.row_place(row);
        const Sum* const s = s_BTKGS.data + place * extents.S;
        for (Index i = 0; i < seen; ++i) scores[i] = s[blocks.place(numbers.begin + i)];
        std::fill(scores + seen, scores + kPlaceBlock, std::numeric_limits<Sum>::lowest());
        blocks.sum(row) += weigh_scores(scores, max_BTKG[place]);
      });
      blocks.weigh(v_BSKH.data, numbers);
    });
    blocks.for_each_row([&](Index row, Index place) {
      blocks.copy_values(row, w_BTKGH.data + place * extents.H);
      sum_BTKG[place] = blocks.sum(row);
    });
  }
}

template <class T>
void cache_divide(View<const SumOf<T>> w_BTKGH, View<const SumOf<T>> sum_BTKG, View<T> o_BTKGH) {
  const Shape& shape = o_BTKGH.shape;
  SHARDLINE_CHECK(shape.size() == 5, "attention over a cache: o has shape {}, not [B, T, K, G, H]", to_string(shape));
  check_shape("w", w_BTKGH.shape, shape);
  check_shape("sum", sum_BTKG.shape, Shape(shape.begin(), shape.end() - 1));
  const Index width = shape[4];
  for (Index row = 0; row < sum_BTKG.size(); ++row) {
    divide_row(w_BTKGH.data + row * width, width, sum_BTKG[row], o_BTKGH.data + row * width);
  }
}

Cost cache_attention_cost(const Shape& q_BTKGH, const Shape& k_BSKH, double seen, Index element_size) {
  const CacheExtents extents = check_extents(q_BTKGH, k_BSKH);
  const double places = seen * static_cast<double>(extents.S);
  const auto queries = static_cast<double>(element_count(q_BTKGH)), cache = static_cast<double>(element_count(k_BSKH));
  return {.flops = Flops(4 * queries * places),
          .bytes = Bytes(2 * (queries + seen * cache) * static_cast<double>(element_size)),
          .parts = static_cast<double>(extents.B),
          .rows = extents.T * extents.G};
}

Cost cache_scores_cost(const Shape& rows, const Shape& k, double seen, Index element_size) {
  const double pairs = static_cast<double>(rows[0] * rows[1] * rows[2] * rows[3] * k[1]) * seen;
  const double cached = static_cast<double>(element_count(k)) * seen;
  const auto score = static_cast<double>(std::max<Index>(size_of(DType::f32), element_size));
  return {.flops = Flops(2 * pairs * static_cast<double>(k[3])),
          .bytes = Bytes(cached * static_cast<double>(element_size) + pairs * score),
          .parts = static_cast<double>(rows[0])};
}

Cost cache_divide_cost(Index count, Index sum_size, Index element_size) {
  const auto elements = static_cast<double>(count);
  return {.flops = Flops(elements), .bytes = Bytes(elements * static_cast<double>(sum_size + element_size))};
}

#define SHARDLINE_INSTANTIATE(T, Sum)                                                                       \
  template void cache_attention(View<const T>, View<const T>, View<const T>, const CachePlaces&, View<T>);  \
  template void cache_scores(View<const T>, View<const T>, const CachePlaces&, View<Sum>, View<Sum>);       \
  template void cache_weigh(View<const Sum>, View<const T>, View<const Sum>, const CachePlaces&, View<Sum>, \
                            View<Sum>);                                                                     \
  template void cache_divide(View<const Sum>, View<const Sum>, View<T>);
SHARDLINE_INSTANTIATE(float, float)
SHARDLINE_INSTANTIATE(double, double)
SHARDLINE_INSTANTIATE(BFloat16, float)

}  // namespace shardline::kernels
