#pragma once

#include <cstdint>

#include "kernels/support/cost.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// out[token] = table[ids[token] - rows.begin], or zeros for an id outside `rows`, the part of the vocabulary that this
/// table_VD holds: over ranks that split the vocabulary the results sum to the whole. ids [...], out [..., D]; T float
/// or double. Throws Error when the shapes disagree.
template <class T>
void embed(View<const T> table_VD, View<const std::int32_t> ids, Range rows, View<T> out);

/// dtable_VD = the sum of dx over the tokens of each row, added in the order of the tokens; zero for rows without one.
template <class T>
void embed_grad(View<const T> dx, View<const std::int32_t> ids, Range rows, View<T> dtable_VD);

/// No operations; a row read and a row written per token, and the ids.
Cost embed_cost(Index tokens, Index width, Index element_size);

/// An addition per element of dx; dx, the ids and dtable [rows, width] once each.
Cost embed_grad_cost(Index tokens, Index rows, Index width, Index element_size);

}  // namespace shardline::kernels
