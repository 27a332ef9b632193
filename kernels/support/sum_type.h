#pragma once

#include <type_traits>

#include "runtime/base/dtype.h"

namespace shardline::kernels {

/// The type in which kernels compute with elements of type S: bf16 is widened to f32, and each result is rounded once.
template <class S>
using SumType = std::conditional_t<std::is_same_v<S, BFloat16>, float, S>;

}  // namespace shardline::kernels
