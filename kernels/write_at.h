#pragma once

#include "kernels/attention/cache_places.h"
#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// Writes keys or values of tokens into a cache: values[b, t] go to the place s with where[s] == at[b, t], if this
/// block of the cache has it. at = -1 writes nothing. No two places have the same position. T BFloat16, float or
/// double. Throws Error if the shapes disagree.
template <class T>
void write_at(View<T> cache_BSKH, View<const T> values_BTKH, const CachePlaces& places);

/// No operations. Reads and writes `held` of the values: the expected share that has a place in this block.
Cost write_at_cost(const Shape& values_BTKH, double held, Index element_size);

}  // namespace shardline::kernels
