#pragma once

#include <functional>
#include <string>

#include "models/checkpoint/weight_files.h"
#include "models/gguf/gguf_model.h"

namespace shardline {

/// The file of a model before its elements are written.
GgufLayout layout_of(const GgufModel& model);

/// Writes a model, with its weights in `weights`, into a file that appears whole or not at all. Weights go through f32.
/// A few MiB of them are in memory at a time. Calls `written` with the bytes so far. Throws UsageError if the file
/// cannot be created, ResultError if it cannot be written, or a weight is not finite, or too large for its type.
void write_gguf(const GgufModel& model, const WeightFiles& weights, const std::string& path,
                const std::function<void(Index bytes)>& written);

}  // namespace shardline
