#pragma once

#include <string_view>

#include "runtime/layout/tensor.h"

namespace shardline {

/// "NaN" if any element is NaN; else "infinity" if any element is infinite; else empty. One pass
/// over the memory.
std::string_view non_finite(const Tensor& tensor);

}  // namespace shardline
