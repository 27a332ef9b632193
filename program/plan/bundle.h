#pragma once

#include <vector>

#include "runtime/layout/tensor.h"

namespace shardline {

/// Several arrays of one element type side by side in one buffer, so that one collective moves them all.

/// Elements of all of them together.
Index bundle_size(const std::vector<const Tensor*>& parts);

/// Copies the arrays into `bundle`, a tensor of bundle_size() elements, one after the other.
void pack_bundle(const std::vector<const Tensor*>& parts, Tensor& bundle);

/// Copies them back out, in the same order.
void unpack_bundle(const Tensor& bundle, const std::vector<Tensor*>& parts);

}  // namespace shardline
