#pragma once

#include <algorithm>
#include <vector>

#include "runtime/layout/tensor.h"

namespace shardline {

// A Hugging Face checkpoint stores a projection as a matrix [out, in]. In our arrays the `input_dims` leading dims are
// its `in`, and the others its `out`. With no input dims an array is stored as it is. Of experts, each has its own
// matrix, and these functions take one expert.

/// The shape in the file.
Shape stored_shape(const Shape& shape, int input_dims);

/// Values by dim of our array, in the order of the file: `out` first.
template <class T>
std::vector<T> in_stored_order(std::vector<T> dims, int input_dims) {
  std::rotate(dims.begin(), dims.begin() + input_dims, dims.end());
  return dims;
}

/// The elements of a block of our array, in the order of the file. Shares memory with `block` if nothing moves.
Tensor to_stored(const Tensor& block, int input_dims);

/// The reverse: `stored` holds the elements of a block in the order of the file, `shape` is that of the block in our
/// dims.
Tensor from_stored(const Tensor& stored, const Shape& shape, int input_dims);

}  // namespace shardline
