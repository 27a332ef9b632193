#pragma once

#include "kernels/attention/cache_attention.h"
#include "kernels/support/cost.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// Puts values[b, t] at the place s of the cache with where[s] == at[b, t]. A token whose position no place holds
/// writes nothing, nor does one at -1. T float, double or BFloat16. Throws Error if the shapes disagree.
template <class T>
void write_at(View<T> cache_BSKH, View<const T> values_BTKH, const CachePlaces& places);

/// No operations; `count` elements of values read and written.
Cost write_at_cost(Index count, Index element_size);

}  // namespace shardline::kernels
