#pragma once

#include <optional>
#include <string>

#include "models/gguf/gguf_file.h"
#include "runtime/base/view.h"

namespace shardline {

/// The bytes of `values` in an element type, rounded to nearest, ties to even. Of q8_0 each block of 32 has the factor
/// d = max|x| / 127, stored in f16, and the whole numbers nearest to x / d (d in f32), ties away from zero, as
/// llama.cpp makes them. Values are finite, and a whole number of blocks. Nothing if a value is too large for the type.
std::optional<std::string> gguf_elements(View<const float> values, GgufType type);

}  // namespace shardline
