#include "kernels/elementwise.h"

#include <algorithm>

#include "kernels/support/activation.h"
#include "kernels/support/rows.h"
#include "runtime/base/check.h"

namespace shardline::kernels {

template <class T>
void add(std::span<const View<const T>> terms, View<T> out) {
  SHARDLINE_CHECK(!terms.empty(), "add: no terms");
  const Index size = out.size();
  for (const View<const T>& term : terms) check_elements("add", "a term", term.shape, size);
  for_lanes(size, [&](Index begin, auto count) {
    Lanes<SumOf<T>> sum = load(terms[0].data + begin, count);
    for (std::size_t i = 1; i < terms.size(); ++i) sum += load(terms[i].data + begin, count);
    store(sum, out.data + begin, count);
  });
}

template <class T>
void fill(View<T> out, T value) {
  std::fill_n(out.data, out.size(), value);
}

Cost add_cost(Index terms, Index count, Index element_size) {
  return elementwise_cost(terms - 1, terms + 1, count, element_size);
}
Cost fill_cost(Index count, Index element_size) { return elementwise_cost(0, 1, count, element_size); }

#define SHARDLINE_INSTANTIATE(T)                              \
  template void add(std::span<const View<const T>>, View<T>); \
  template void fill(View<T>, T);
SHARDLINE_INSTANTIATE(BFloat16)
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
