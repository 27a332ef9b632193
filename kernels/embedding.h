#pragma once

#include <cstdint>

#include "kernels/support/cost.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// out[token] = table[ids[token] - rows.begin]. `rows` is the part of the vocabulary in this
/// table_VD; an id outside it gives zeros. So the results of ranks that split the vocabulary sum to
/// the whole. ids [...], out [..., D]; T BFloat16, float or double. Throws Error if the shapes disagree.
template <class T>
void embed(View<const T> table_VD, View<const std::int32_t> ids, Range rows, View<T> out);

/// dtable_VD = the sum of dx over the tokens of each row, in token order; zero for rows without
/// tokens. In bf16 a row is summed in f32 and rounded once.
template <class T>
void embed_grad(View<const T> dx, View<const std::int32_t> ids, Range rows, View<T> dtable_VD);

/// No operations. Reads and writes one row per token, and reads the ids.
Cost embed_cost(Index tokens, Index width, Index element_size);

/// One addition per element of dx; dx, the ids and dtable [rows, width] once each.
Cost embed_grad_cost(Index tokens, Index rows, Index width, Index element_size);

}  // namespace shardline::kernels
