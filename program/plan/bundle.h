#pragma once

#include <vector>

#include "runtime/layout/tensor.h"

namespace shardline {

/// Several arrays of one element type, packed into one buffer, so one collective moves them all.

/// The number of elements of all arrays together.
Index bundle_size(const std::vector<const Tensor*>& parts);

/// Copies the arrays into `bundle`, a tensor of bundle_size() elements, one after another.
void pack_bundle(const std::vector<const Tensor*>& parts, Tensor& bundle);

/// Copies them back, in the same order.
void unpack_bundle(const Tensor& bundle, const std::vector<Tensor*>& parts);

}  // namespace shardline
