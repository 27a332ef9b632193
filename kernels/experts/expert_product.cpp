#include "kernels/experts/expert_product.h"

#include <algorithm>
#include <vector>

#include "kernels/experts/places.h"
#include "kernels/gemm/gemm.h"
#include "kernels/support/rows.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

/// The rows of the taken places of one expert, together: where they stand in an array [E, B, C, width].
class TakenRows {
 public:
  TakenRows(View<const std::int32_t> taken_EB, Range places, Index expert) {
    const Index sequences = taken_EB.shape.at(1);
    for (Index b = 0; b < sequences; ++b) {
      const Index count = taken_of(taken_EB[expert * sequences + b], places);
      const Index first = (expert * sequences + b) * places.size();
      if (count > 0) parts_.push_back({first, first + count});
      rows_ += count;
    }
  }

  Index rows() const { return rows_; }

  /// Copies the rows of `array` to `packed`, one after the other.
  template <class T>
  void pack(View<const T> array, Index width, T* packed) const {
    for (const Range& part : parts_) {
      packed = std::copy_n(array.data + part.begin * width, part.size() * width, packed);
    }
  }

  template <class T>
  void unpack(const T* packed, Index width, View<T> array) const {
    for (const Range& part : parts_) {
      std::copy_n(packed, part.size() * width, array.data + part.begin * width);
      packed += part.size() * width;
    }
  }

 private:
  std::vector<Range> parts_;  ///< rows in the array, in order
  Index rows_ = 0;
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
  std::vector<T> rows_in;
  std::vector<T> rows_out;
  for (Index e = 0; e < x.shape[0]; ++e) {
    const TakenRows taken(taken_EB, places, e);
    rows_in.resize(static_cast<std::size_t>(taken.rows() * in));
    rows_out.resize(static_cast<std::size_t>(taken.rows() * out));
    taken.pack<T>(x, in, rows_in.data());
    gemm<T, T>({.b = transposed ? Transpose::yes : Transpose::no,
                .m = taken.rows(),
                .n = out,
                .k = in,
                .lda = in,
                .ldb = transposed ? in : out,
                .ldc = out},
               rows_in.data(), w.data + e * in * out, rows_out.data());
    taken.unpack<T>(rows_out.data(), out, y);
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
  std::vector<T> rows_x;
  std::vector<T> rows_dy;
  for (Index e = 0; e < x.shape[0]; ++e) {
    const TakenRows taken(taken_EB, places, e);
    rows_x.resize(static_cast<std::size_t>(taken.rows() * in));
    rows_dy.resize(static_cast<std::size_t>(taken.rows() * out));
    taken.pack<T>(x, in, rows_x.data());
    taken.pack<T>(dy, out, rows_dy.data());
    gemm<T, T>({.a = Transpose::yes, .m = in, .n = out, .k = taken.rows(), .lda = in, .ldb = out, .ldc = out},
               rows_x.data(), rows_dy.data(), dw_EIJ.data + e * in * out);
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
