#include "kernels/embedding.h"

#include <algorithm>
#include <vector>

#include "kernels/support/lanes.h"
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

/// The tokens whose row is in `rows`, row by row, each row's in token order.
std::vector<Index> tokens_by_row(View<const std::int32_t> ids, Range rows) {
  std::vector<Index> tokens;
  for (Index t = 0; t < ids.size(); ++t) {
    if (holds(rows, ids[t])) tokens.push_back(t);
  }
  std::stable_sort(tokens.begin(), tokens.end(), [&](Index a, Index b) { return ids[a] < ids[b]; });
  return tokens;
}

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
      std::fill_n(target, width, T{});
    }
  }
}

template <class T>
void embed_grad(View<const T> dx, View<const std::int32_t> ids, Range rows, View<T> dtable_VD) {
  const Index width = check_lookup("embed_grad", dtable_VD.shape, ids.shape, rows, dx.shape);
  std::fill_n(dtable_VD.data, dtable_VD.size(), T{});
  const std::vector<Index> tokens = tokens_by_row(ids, rows);
  for (auto first = tokens.begin(); first != tokens.end();) {
    const std::int32_t id = ids[*first];
    const auto last = std::find_if(first, tokens.end(), [&](Index t) { return ids[t] != id; });
    T* target = dtable_VD.data + (id - rows.begin) * width;
    for_lanes(width, [&](Index begin, auto count) {
      Lanes<SumOf<T>> sum = load(dx.data + *first * width + begin, count);
      for (auto t = first + 1; t != last; ++t) sum += load(dx.data + *t * width + begin, count);
      store(sum, target + begin, count);
    });
    first = last;
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
SHARDLINE_INSTANTIATE(BFloat16)
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
