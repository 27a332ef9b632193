#include "kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/support/lanes.h"
#include "kernels/support/rows.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

constexpr Index kLabelSize = sizeof(std::int32_t);

void check_vocabulary(const char* kernel, Index columns, Range vocabulary) {
  SHARDLINE_CHECK(columns == vocabulary.size(), "{}: {} logits per row for the vocabulary range {} to {}", kernel,
                  columns, vocabulary.begin, vocabulary.end);
}

bool holds(Range range, Index i) { return i >= range.begin && i < range.end; }

bool label_counts(std::int32_t label) { return label >= 0; }

Cost cost_of(Index operations, Index bytes) {
  return {Flops(static_cast<double>(operations)), Bytes(static_cast<double>(bytes))};
}

}  // namespace

template <class S>
void row_max(View<const S> logits_TV, View<SumOf<S>> max_T) {
  const auto [rows, columns] = as_rows("row_max", logits_TV.shape);
  check_elements("row_max", "max", max_T.shape, rows);
  for (Index t = 0; t < rows; ++t) {
    max_T[t] = max_lanes(logits_TV.data + t * columns, columns, std::numeric_limits<SumOf<S>>::lowest());
  }
}

template <class S>
void sum_exp(View<const S> logits_TV, View<const SumOf<S>> max_T, View<SumOf<S>> z_T) {
  using T = SumOf<S>;
  const auto [rows, columns] = as_rows("sum_exp", logits_TV.shape);
  check_elements("sum_exp", "max", max_T.shape, rows);
  check_elements("sum_exp", "z", z_T.shape, rows);
  for (Index t = 0; t < rows; ++t) {
    const S* logits = logits_TV.data + t * columns;
    const T max = max_T[t];
    z_T[t] = sum_lanes<T>(
        columns, [&](Index begin, auto count) -> Lanes<T> { return exp_lanes<T>(load(logits + begin, count) - max); });
  }
}

template <class S>
void pick(View<const S> logits_TV, View<const std::int32_t> labels_T, Range vocabulary, View<SumOf<S>> picked_T) {
  const auto [rows, columns] = as_rows("pick", logits_TV.shape);
  check_elements("pick", "labels", labels_T.shape, rows);
  check_elements("pick", "picked", picked_T.shape, rows);
  check_vocabulary("pick", columns, vocabulary);
  for (Index t = 0; t < rows; ++t) {
    const Index label = labels_T[t];
    const S* logits = logits_TV.data + t * columns;
    picked_T[t] = holds(vocabulary, label) ? static_cast<SumOf<S>>(logits[label - vocabulary.begin]) : SumOf<S>(0);
  }
}

template <class T>
void negative_log_likelihood(View<const T> z_T, View<const T> max_T, View<const T> picked_T,
                             View<const std::int32_t> labels_T, double scale, View<T> loss) {
  const Index rows = z_T.size();
  check_elements("negative_log_likelihood", "max", max_T.shape, rows);
  check_elements("negative_log_likelihood", "picked", picked_T.shape, rows);
  check_elements("negative_log_likelihood", "labels", labels_T.shape, rows);
  check_elements("negative_log_likelihood", "loss", loss.shape, 1);
  double sum = 0;
  for (Index t = 0; t < rows; ++t) {
    if (!label_counts(labels_T[t])) continue;
    sum += std::log(static_cast<double>(z_T[t])) + static_cast<double>(max_T[t]) - static_cast<double>(picked_T[t]);
  }
  loss[0] = static_cast<T>(scale * sum);
}

template <class S>
void cross_entropy_grad(View<const S> logits_TV, View<const std::int32_t> labels_T, View<const SumOf<S>> max_T,
                        View<const SumOf<S>> z_T, View<const SumOf<S>> dloss, Range vocabulary, double scale,
                        View<S> dlogits_TV) {
  using T = SumOf<S>;
  const auto [rows, columns] = as_rows("cross_entropy_grad", logits_TV.shape);
  check_elements("cross_entropy_grad", "labels", labels_T.shape, rows);
  check_elements("cross_entropy_grad", "max", max_T.shape, rows);
  check_elements("cross_entropy_grad", "z", z_T.shape, rows);
  check_elements("cross_entropy_grad", "dloss", dloss.shape, 1);
  check_elements("cross_entropy_grad", "dlogits", dlogits_TV.shape, rows * columns);
  check_vocabulary("cross_entropy_grad", columns, vocabulary);
  const T incoming = static_cast<T>(static_cast<double>(dloss[0]) * scale);
  for (Index t = 0; t < rows; ++t) {
    const S* logits = logits_TV.data + t * columns;
    S* dlogits = dlogits_TV.data + t * columns;
    if (!label_counts(labels_T[t])) {
      std::fill_n(dlogits, columns, S(0));
      continue;
    }
    const T max = max_T[t];
    const T factor = incoming / z_T[t];
    for_lanes(columns, [&](Index begin, auto count) {
      store(exp_lanes<T>(load(logits + begin, count) - max) * factor, dlogits + begin, count);
    });
    if (!holds(vocabulary, labels_T[t])) continue;
    // Rounded once: through the same vector code as its neighbours, less one.
    const Index label = labels_T[t] - vocabulary.begin;
    const Lanes<T> of_label = exp_lanes<T>(load(logits + label, Index{1}) - max) * factor;
    dlogits[label] = static_cast<S>(of_label[0] - incoming);
  }
}

Cost row_max_cost(const Shape& logits, Index element_size) {
  const auto [rows, columns] = as_rows("row_max", logits);
  return cost_of(rows * columns, (rows * columns + rows) * element_size);
}
Cost sum_exp_cost(const Shape& logits, Index element_size) {
  const auto [rows, columns] = as_rows("sum_exp", logits);
  return cost_of(3 * rows * columns, (rows * columns + 2 * rows) * element_size);
}
Cost pick_cost(Index rows, Index element_size) { return cost_of(0, rows * (2 * element_size + kLabelSize)); }
Cost negative_log_likelihood_cost(Index rows, Index element_size) {
  return cost_of(4 * rows, (3 * rows + 1) * element_size + rows * kLabelSize);
}
Cost cross_entropy_grad_cost(const Shape& logits, Index element_size) {
  const auto [rows, columns] = as_rows("cross_entropy_grad", logits);
  return cost_of(3 * rows * columns, (2 * rows * columns + 2 * rows) * element_size + rows * kLabelSize);
}

#define SHARDLINE_INSTANTIATE(S)                                                                  \
  template void row_max(View<const S>, View<SumOf<S>>);                                           \
  template void sum_exp(View<const S>, View<const SumOf<S>>, View<SumOf<S>>);                     \
  template void pick(View<const S>, View<const std::int32_t>, Range, View<SumOf<S>>);             \
  template void cross_entropy_grad(View<const S>, View<const std::int32_t>, View<const SumOf<S>>, \
                                   View<const SumOf<S>>, View<const SumOf<S>>, Range, double, View<S>);
SHARDLINE_INSTANTIATE(BFloat16)
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)
template void negative_log_likelihood(View<const float>, View<const float>, View<const float>, View<const std::int32_t>,
                                      double, View<float>);
template void negative_log_likelihood(View<const double>, View<const double>, View<const double>,
                                      View<const std::int32_t>, double, View<double>);

}  // namespace shardline::kernels
