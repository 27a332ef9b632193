#include "kernels/embedding.h"

#include <algorithm>

#include "kernels/support/rows.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

constexpr auto kIdSize = static_cast<double>(sizeof(std::int32_t));

/// Checks the shapes of a table and of the tokens. Returns the width of a row.
Index check_lookup(const char* kernel, const Shape& table, const Shape& ids, Range rows, const Shape& tokens) {
  SHARDLINE_CHECK(table.size() == 2, "{}: the table has shape {}, not [V, D]", kernel, to_string(table));
  SHARDLINE_CHECK(table[0] == rows.size(), "{}: a table of shape {} for rows {} to {}", kernel, to_string(table),
                  rows.begin, rows.end);
  check_elements(kernel, "the token array", tokens, element_count(ids) * table[1]);
  return table[1];
}

bool holds(Range range, Index i) { return i >= range.begin && i < range.end; }

}  // namespace

template <class T>
void embed(View<const T> table_VD, View<const std::int32_t> ids, Range rows, View<T> out) {
  const Index width = check_lookup("embed", table_VD.shape, ids.shape, rows, out.shape);
  const Index tokens = ids.size();
  for (Index t = 0; t < tokens; ++t) {
    T* target = out.data + t * width;
    if (holds(rows, ids[t])) {
      std::copy_n(table_VD.data + (ids[t] - rows.begin) * width, width, target);
    } else {
      std::fill_n(target, width, T(0));
    }
  }
}

template <class T>
void embed_grad(View<const T> dx, View<const std::int32_t> ids, Range rows, View<T> dtable_VD) {
  const Index width = check_lookup("embed_grad", dtable_VD.shape, ids.shape, rows, dx.shape);
  const Index tokens = ids.size();
  std::fill_n(dtable_VD.data, dtable_VD.size(), T(0));
  for (Index t = 0; t < tokens; ++t) {
    if (!holds(rows, ids[t])) continue;
    const T* source = dx.data + t * width;
    T* target = dtable_VD.data + (ids[t] - rows.begin) * width;
    for (Index d = 0; d < width; ++d) target[d] += source[d];
  }
}

Cost embed_cost(Index tokens, Index width, Index element_size) {
  const auto moved = static_cast<double>(tokens * width * element_size);
  return {Flops(0), Bytes(2 * moved + kIdSize * static_cast<double>(tokens))};
}

Cost embed_grad_cost(Index tokens, Index rows, Index width, Index element_size) {
  const auto moved = static_cast<double>((tokens + rows) * width * element_size);
  return {Flops(static_cast<double>(tokens * width)), Bytes(moved + kIdSize * static_cast<double>(tokens))};
}

#define SHARDLINE_INSTANTIATE(T)                                                \
  template void embed(View<const T>, View<const std::int32_t>, Range, View<T>); \
  template void embed_grad(View<const T>, View<const std::int32_t>, Range, View<T>);
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
