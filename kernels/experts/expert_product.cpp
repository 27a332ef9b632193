#include "kernels/experts/expert_product.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/experts/places.h"
#include "kernels/gemm/gemm.h"
#include "kernels/support/rows.h"
#include "kernels/support/workspace.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

/// Rows of an array [E, B, C, width] of places that are multiplied together.
struct ExpertRows {
  std::vector<Range> parts;  ///< in order; the rows of a part are those of one sequence
  Index rows = 0;

  /// Copies the rows of `array` to `packed`, one after the other, and zeros after them up to `filled` rows.
  template <class T>
  void pack(View<const T> array, Index width, Index filled, T* packed) const {
    for (const Range& part : parts) {
      packed = std::copy_n(array.data + part.begin * width, part.size() * width, packed);
    }
    std::fill_n(packed, (filled - rows) * width, T{});
  }

  template <class T>
  void unpack(const T* packed, Index width, View<T> array) const {
    for (const Range& part : parts) {
      std::copy_n(packed, part.size() * width, array.data + part.begin * width);
      packed += part.size() * width;
    }
  }
};

/// The most rows of a product.
struct MostRows {
  Index of_one = 0;  ///< of one sequence
  Index of_all = 0;  ///< of several sequences
};

/// The rows of the taken places of one expert, in blocks. Those of a sequence are cut into equal parts.
std::vector<ExpertRows> blocks_of_expert(View<const std::int32_t> taken_EB, Range places, Index expert,
                                         const MostRows& most) {
  std::vector<ExpertRows> blocks;
  const Index sequences = taken_EB.shape.at(1);
  for (Index i = expert * sequences; i < (expert + 1) * sequences; ++i) {
    const Index rows = taken_of(taken_EB[i], places);
    const Index parts = rows / most.of_one + (rows % most.of_one > 0 ? 1 : 0);
    for (Index k = 0; k < parts; ++k) {
      const Range part{i * places.size() + rows * k / parts, i * places.size() + rows * (k + 1) / parts};
      if (blocks.empty() || blocks.back().rows + part.size() > most.of_all) blocks.emplace_back();
      blocks.back().parts.push_back(part);
      blocks.back().rows += part.size();
    }
  }
  return blocks;
}

/// Packed rows with the zeros after them. A library may make code for every number of rows: so there are few.
Index filled_rows(Index rows) {
  constexpr Index kMultiple = 16;
  return (rows + kMultiple - 1) / kMultiple * kMultiple;
}

/// As many packed rows of both sides as fit a bounded workspace: an expert may get all tokens of the rank.
template <class T>
MostRows rows_of_workspace(Index widths) {
  constexpr Index kBytes = Index{16} << 20;
  const Index rows = std::max<Index>(256, kBytes / std::max<Index>(1, widths * static_cast<Index>(sizeof(T))));
  return {.of_one = rows, .of_all = rows};
}

/// Where oneDNN keeps the weights of an expert in a form of its own, products of few rows are fast, and a sequence with
/// more has its own, without a copy. Else every product copies the weights, so it has as many rows as fit.
template <class T>
MostRows most_rows(bool transposed, Index widths) {
  const bool keeps = gemm_library(kDTypeOf<T>) == GemmLibrary::onednn && (transposed || std::is_same_v<T, BFloat16>);
  return keeps ? MostRows{.of_one = 128, .of_all = 64} : rows_of_workspace<T>(widths);
}

/// The products of one call of expert_product(): `in` and `out` are widths of rows.
template <class T>
struct RowProducts {
  View<const T> x;
  View<T> y;
  Index in, out;
  bool transposed;

  /// Rows that lie together are multiplied where they are, others are packed.
  void multiply(const ExpertRows& block, const T* weights, KeptOperands* kept) const {
    if (block.parts.size() == 1) {
      const Index first = block.parts[0].begin;
      return multiply_rows(x.data + first * in, weights, block.rows, y.data + first * out, kept);
    }
    static Workspace<T> rows_in, rows_out;
    const Index rows = filled_rows(block.rows);
    T* from = rows_in.room(rows * in);
    T* to = rows_out.room(rows * out);
    block.pack<T>(x, in, rows, from);
    multiply_rows(from, weights, rows, to, kept);
    block.unpack<T>(to, out, y);
  }

 private:
  void multiply_rows(const T* from, const T* weights, Index rows, T* to, KeptOperands* kept) const {
    const GemmShape shape{.b = transposed ? Transpose::yes : Transpose::no,
                          .m = rows,
                          .n = out,
                          .k = in,
                          .lda = in,
                          .ldb = transposed ? in : out,
                          .ldc = out};
    gemm<T, T>(shape, from, weights, to, {.kept = kept});
  }
};

/// The products of one call of expert_weight_grad().
template <class T>
struct RowGradients {
  View<const T> x;
  View<const T> dy;
  Index in, out;

  /// dw[in, out] = the sum over the rows of a block, or += it.
  template <class R>
  void add(const ExpertRows& block, bool accumulate, R* dw) const {
    static Workspace<T> rows_x, rows_dy;
    const Index rows = filled_rows(block.rows);
    T* from_x = rows_x.room(rows * in);
    T* from_dy = rows_dy.room(rows * out);
    block.pack<T>(x, in, rows, from_x);
    block.pack<T>(dy, out, rows, from_dy);
    const GemmShape shape{.a = Transpose::yes, .m = in, .n = out, .k = rows, .lda = in, .ldb = out, .ldc = out};
    gemm<T, R>(shape, from_x, from_dy, dw, {.accumulate = accumulate});
  }
};

void check_places(const char* kernel, const Shape& x, View<const std::int32_t> taken_EB, Range places) {
  SHARDLINE_CHECK(x.size() == 4 && x[2] == places.size() && taken_EB.shape == Shape({x[0], x[1]}),
                  "{}: places of shape {}, taken of shape {}, places {} to {}", kernel, to_string(x),
                  to_string(taken_EB.shape), places.begin, places.end);
}

}  // namespace

template <class T>
void expert_product(View<const T> x, View<const T> w, bool transposed, View<const std::int32_t> taken_EB, Range places,
                    View<T> y) {
  check_places("expert_product", x.shape, taken_EB, places);
  check_places("expert_product", y.shape, taken_EB, places);
  const Index in = x.shape[3];
  const Index out = y.shape[3];
  check_elements("expert_product", "w", w.shape, x.shape[0] * in * out);
  const RowProducts<T> products{.x = x, .y = y, .in = in, .out = out, .transposed = transposed};
  const MostRows most = most_rows<T>(transposed, in + out);
  for (Index e = 0; e < x.shape[0]; ++e) {
    const std::vector<ExpertRows> blocks = blocks_of_expert(taken_EB, places, e, most);
    KeptOperands kept;
    for (const ExpertRows& block : blocks) {
      products.multiply(block, w.data + e * in * out, blocks.size() > 1 ? &kept : nullptr);
    }
  }
}

template <class T>
void expert_weight_grad(View<const T> x, View<const T> dy, View<const std::int32_t> taken_EB, Range places,
                        View<T> dw_EIJ) {
  check_places("expert_weight_grad", x.shape, taken_EB, places);
  check_places("expert_weight_grad", dy.shape, taken_EB, places);
  const Index in = x.shape[3];
  const Index out = dy.shape[3];
  check_elements("expert_weight_grad", "dw", dw_EIJ.shape, x.shape[0] * in * out);
  const RowGradients<T> gradients{.x = x, .dy = dy, .in = in, .out = out};
  for (Index e = 0; e < x.shape[0]; ++e) {
    T* dw = dw_EIJ.data + e * in * out;
    std::vector<ExpertRows> blocks = blocks_of_expert(taken_EB, places, e, rows_of_workspace<T>(in + out));
    if (blocks.empty()) blocks.emplace_back();  // the sum over no rows
    if (blocks.size() == 1 || !std::is_same_v<T, BFloat16>) {
      for (const ExpertRows& block : blocks) gradients.add(block, &block != &blocks[0], dw);
      continue;
    }
    static Workspace<SumOf<T>> sums;  // of several blocks in f32, to round once
    SumOf<T>* sum = sums.room(in * out);
    for (const ExpertRows& block : blocks) gradients.add(block, &block != &blocks[0], sum);
    std::transform(sum, sum + in * out, dw, [](SumOf<T> element) { return static_cast<T>(element); });
  }
}

Cost expert_product_cost(double rows, Index experts, Index in, Index out, Index element_size) {
  const auto width = static_cast<double>(in * out);
  return {Flops(2 * rows * width),
          Bytes((static_cast<double>(experts) * width + rows * static_cast<double>(in + out)) *
                static_cast<double>(element_size)),
          static_cast<double>(experts)};
}

#define SHARDLINE_INSTANTIATE(T)                                                                              \
  template void expert_product(View<const T>, View<const T>, bool, View<const std::int32_t>, Range, View<T>); \
  template void expert_weight_grad(View<const T>, View<const T>, View<const std::int32_t>, Range, View<T>);
SHARDLINE_INSTANTIATE(BFloat16)
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
