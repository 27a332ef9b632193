#pragma once

#include <cstdint>

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// out[b] = the sum of the rows x[b, t] with wanted[b, t] != 0; zeros without one. Other rows are not read. T float,
/// double or BFloat16; bf16 is added in f32 and rounded after each row. Throws Error if the shapes disagree.
template <class T>
void pick_rows(View<const T> x_BTD, View<const std::int32_t> wanted_BT, View<T> out_BD);

/// No operations; the rows of the result are read and written.
Cost pick_rows_cost(Index count, Index element_size);

}  // namespace shardline::kernels
