#pragma once

#include <string_view>

#include "runtime/layout/tensor.h"

namespace shardline {

/// "NaN" when an element of the tensor is that, otherwise "infinity" when one is infinite, otherwise empty. One pass
/// over its memory.
std::string_view non_finite(const Tensor& tensor);

}  // namespace shardline
