#include "kernels/gemm/thin.h"

#include <algorithm>
#include <array>

#include "kernels/support/row_products.h"
#include "kernels/support/weighted_rows.h"
#include "kernels/support/workspace.h"

namespace shardline::kernels {
namespace {

/// With more rows a library is as fast: the operations then take longer than reading B.
constexpr Index kMostRows = 16;
/// Columns of which the sums stay in the caches while B goes by. Shorter pieces of its rows would cost speed.
constexpr Index kMostColumns = 16384;
/// Sums of several rows that stay in the L2 cache beside the rows of B that wait there.
constexpr Index kMostSums = Index{1} << 15;
/// Rows of so few columns are taken several at once, as each begins anew.
constexpr Index kFewColumns = 256;

/// Up to so many rows, sums cost little to load and store. With more, rows of B wait in the L2 cache, and each sum
/// takes many of them.
constexpr Index kFewRows = 2;
/// Bytes of B that are taken from the L2 cache at a time, while as many others come to it.
constexpr Index kTakenAtOnce = Index{64} << 10;
/// How far ahead rows are asked for that go to the processor at once.
constexpr Index kBytesAhead = 512;

/// Rows of B, cut into parts of neighbours of which a row each is taken by turns. The processor sees few streams then,
/// each in the order of memory from its beginning to its end, and fetches them ahead by itself.
struct Parts {
  Index count, base, longer;  ///< the first `longer` parts have base + 1 rows, the others base

  Parts(Index rows, Index most) : count(std::min(most, rows)), base(rows / count), longer(rows % count) {}
  Index begin(Index part) const { return part * base + std::min(part, longer); }
  Index size(Index part) const { return base + (part < longer ? 1 : 0); }
  Index turns() const { return size(0); }
  /// How many parts have a row in this turn.
  Index in_turn(Index turn) const { return turn < base ? count : longer; }
};

/// Packed rows of `length`, with a gap: rows a power of two apart would share too few sets of the L1 cache.
constexpr Index row_with_gap(Index length) { return packed_length(length) + kPackedBlock; }

/// What does not change while a product is computed.
template <class S, class T>
struct ThinProduct {
  const GemmShape& shape;
  const S* a;
  const S* b;
  bool accumulate;
  T* c;

  /// The first element of row `i` of op(A), and the distance of its elements.
  const S* row_of_a(Index i) const { return a + i * (shape.a == Transpose::yes ? 1 : shape.lda); }
  Index step_of_a() const { return shape.a == Transpose::yes ? shape.lda : 1; }

  void finish(float sum, Index i, Index j) const {
    T& element = c[i * shape.ldc + j];
    element = static_cast<T>(accumulate ? static_cast<float>(element) + sum : sum);
  }
};

/// Some columns of all rows of B [k, n], which are added up under weights. The weights are in the order of the turns.
template <class S>
struct AddedRows {
  const S* b = nullptr;  ///< the first of these columns
  Index ldb = 0;
  Parts parts;
  Index turns_at_once = 1;
  bool waits = false;  ///< whether rows wait in the L2 cache
  WeightedRows<S, Packed<S>> sums;

  template <Index bytes>
  [[gnu::always_inline]] inline void run() const {
    const S* rows[kWeightedAtOnce];
    const S* next[kWeightedAtOnce];
    WeightedRows<S, Packed<S>> call = sums;
    call.rows = rows;
    call.next = next;
    if (waits) {
      const Index first = neighbours(0, next);
      for (Index r = 0; r < first; ++r) prefetch(next[r], sums.length);
    }
    for (Index turn = 0; turn < parts.turns(); turn += turns_at_once) {
      call.count = by_turns(turn, rows);
      if (waits) call.next_count = neighbours(turn + turns_at_once, next);
      call.template run<bytes>();
      call.weights += call.count;
    }
  }

 private:
  /// The rows of some turns from `turn` on, and how many these are.
  Index by_turns(Index turn, const S** rows) const {
    Index count = 0;
    for (const Index end = std::min(parts.turns(), turn + turns_at_once); turn < end; ++turn) {
      for (Index part = 0; part < parts.in_turn(turn); ++part) rows[count++] = b + (parts.begin(part) + turn) * ldb;
    }
    if (count < kWeightedAtOnce) rows[count] = rows[count - 1];  // an odd number of rows reads one more pointer
    return count;
  }
  /// The same rows in the order of memory.
  Index neighbours(Index turn, const S** rows) const {
    Index count = 0;
    for (Index part = 0; part < parts.count; ++part) {
      const Index end = std::min(parts.size(part), turn + turns_at_once);
      for (Index t = turn; t < end; ++t) rows[count++] = b + (parts.begin(part) + t) * ldb;
    }
    return count;
  }
};

/// A, row by row, in the order of the turns.
template <class S, class T>
void pack_by_turns(const ThinProduct<S, T>& p, const Parts& parts, Packed<S>* to) {
  const Index of_row = row_with_gap(p.shape.k);
  for (Index i = 0; i < p.shape.m; ++i, to += of_row) {
    for (Index part = 0; part < parts.count; ++part) {
      const S* const from = p.row_of_a(i) + parts.begin(part) * p.step_of_a();
      for (Index turn = 0; turn < parts.size(part); ++turn) {
        to[turn * parts.count + part] = static_cast<Packed<S>>(from[turn * p.step_of_a()]);
      }
    }
    std::fill(to + p.shape.k, to + of_row, Packed<S>());
  }
}

/// B is stored [k, n]: its rows are added up under weights from A, block of columns by block.
template <class S, class T>
void add_rows(const ThinProduct<S, T>& p) {
  static Workspace<Packed<S>> room_of_a;
  static Workspace<float> room_of_sums;
  constexpr Index kParts = 4, kMostTurns = kWeightedAtOnce / kParts;
  const auto [m, n, k] = std::array{p.shape.m, p.shape.n, p.shape.k};
  const Parts parts(k, kParts);
  Packed<S>* const weights = room_of_a.room(m * row_with_gap(k));
  pack_by_turns(p, parts, weights);
  const bool waits = m > kFewRows;
  const Index most_columns = waits ? kMostSums / m : kMostColumns;
  const Index blocks = (n + most_columns - 1) / most_columns, most = (n + blocks - 1) / blocks;
  const Index of_sums = row_with_gap(most);
  float* const sums = room_of_sums.room(m * of_sums);
  for (Index j = 0; j < n; j += most) {
    const Index columns = std::min(most, n - j), of_turn = kParts * columns * static_cast<Index>(sizeof(S));
    std::fill_n(sums, m * of_sums, 0.0F);
    run_with_vectors(AddedRows<S>{
        .b = p.b + j,
        .ldb = p.shape.ldb,
        .parts = parts,
        .turns_at_once = std::clamp<Index>(waits ? kTakenAtOnce / of_turn : kFewColumns / columns, 1, kMostTurns),
        .waits = waits,
        .sums = {.weights = weights,
                 .weights_row = row_with_gap(k),
                 .c_rows = m,
                 .length = columns,
                 .c = sums,
                 .c_row = of_sums,
                 .ahead = waits ? 0 : kBytesAhead / static_cast<Index>(sizeof(S))}});
    for (Index i = 0; i < m; ++i) {
      unpack_row<S>(sums + i * of_sums, columns, [&](Index at, float sum) { p.finish(sum, i, j + at); });
    }
  }
}

/// All rows of B [n, k], which are multiplied with all rows of A. Calls done(numbers, count) for some of them by turns.
template <class S, class Done>
struct MultipliedRows {
  const S* b = nullptr;
  Index ldb = 0;
  Parts parts;
  RowProducts<S> products;
  const Done& done;

  template <Index bytes>
  [[gnu::always_inline]] inline void run() const {
    const S* rows[kRowsAtOnce];
    Index numbers[kRowsAtOnce];
    RowProducts<S> call = products;
    call.rows = rows;
    for (Index turn = 0; turn < parts.turns();) {
      call.count = 0;
      for (; turn < parts.turns() && call.count + parts.in_turn(turn) <= kRowsAtOnce; ++turn) {
        for (Index part = 0; part < parts.in_turn(turn); ++part) numbers[call.count++] = parts.begin(part) + turn;
      }
      for (Index r = 0; r < kRowsAtOnce; ++r) rows[r] = b + numbers[std::min(r, call.count - 1)] * ldb;
      call.template run<bytes>();
      done(numbers, call.count);
    }
  }
};

/// B is stored [n, k]: each of its rows is multiplied with all rows of A.
template <class S, class T>
void multiply_rows(const ThinProduct<S, T>& p) {
  static Workspace<Packed<S>> room_of_a;
  const auto [m, n, k] = std::array{p.shape.m, p.shape.n, p.shape.k};
  const Index of_row = row_with_gap(k);
  Packed<S>* const x = room_of_a.room(m * of_row);
  for (Index i = 0; i < m; ++i) pack_row<S>(p.row_of_a(i), p.step_of_a(), k, x + i * of_row);
  std::array<float, kMostRows * kRowsAtOnce> sums;
  const auto done = [&](const Index* numbers, Index count) {
    for (Index i = 0; i < m; ++i) {
      for (Index r = 0; r < count; ++r) p.finish(sums[static_cast<std::size_t>(i * kRowsAtOnce + r)], i, numbers[r]);
    }
  };
  const bool few = m <= kFewRows;  // with more, rows are read group by group of A, and the next ones come meanwhile
  const Index ahead = few ? kBytesAhead / static_cast<Index>(sizeof(S)) : kRowsAtOnce * p.shape.ldb;
  run_with_vectors(MultipliedRows<S, decltype(done)>{.b = p.b,
                                                     .ldb = p.shape.ldb,
                                                     .parts = Parts(n, few ? kRowsAtOnce / 2 : 1),
                                                     .products = {.x = x,
                                                                  .x_row = of_row,
                                                                  .x_rows = m,
                                                                  .length = k,
                                                                  .sums = sums.data(),
                                                                  .sums_row = kRowsAtOnce,
                                                                  .ahead = ahead},
                                                     .done = done});
}

}  // namespace

bool is_thin(const GemmShape& shape) { return shape.m <= kMostRows; }

template <class S, class T>
void multiply_thin(const GemmShape& shape, const S* a, const S* b, bool accumulate, T* c) {
  const ThinProduct<S, T> product{shape, a, b, accumulate, c};
  if (shape.b == Transpose::yes) {
    multiply_rows(product);
  } else {
    add_rows(product);
  }
}

template void multiply_thin(const GemmShape&, const float*, const float*, bool, float*);
template void multiply_thin(const GemmShape&, const BFloat16*, const BFloat16*, bool, float*);
template void multiply_thin(const GemmShape&, const BFloat16*, const BFloat16*, bool, BFloat16*);

}  // namespace shardline::kernels
