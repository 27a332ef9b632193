#pragma once

#include <string>
#include <vector>

#include "models/architecture/config.h"
#include "models/gguf/gguf_file.h"

namespace shardline {

/// A tensor of the file, and where its elements come from.
struct GgufSource {
  GgufTensor tensor;
  /// Weights of the folder, whose rows follow each other in the tensor: several for the experts of a layer.
  std::vector<std::string> weights;
  /// llama.cpp turns the elements 2i and 2i + 1 of a head together, we those of i and i + H/2. If not 0: H, and in
  /// every H rows, those of a head, row 2i + j comes from row i + j H/2.
  Index interleaved = 0;
  std::vector<float> values;  ///< the elements, if they are in no weight
};

/// A model as llama.cpp knows it.
struct GgufModel {
  std::string architecture;  ///< "llama" or "qwen2"
  GgufMetadata metadata;     ///< sizes and constants; what GgufTokens says follows them
  std::vector<GgufSource> sources;
};

/// Describes a model to llama.cpp. `longest`: tokens of the longest sequence that it is made for. `type`: that of the
/// weights; norms, biases and routers are f32. Throws UsageError, one line, for a model that llama.cpp cannot have, and
/// for a weight whose rows are no whole number of blocks of `type`.
GgufModel gguf_model(const TransformerConfig& config, Index longest, GgufType type);

}  // namespace shardline
