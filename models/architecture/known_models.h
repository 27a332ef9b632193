#pragma once

#include <string>
#include <vector>

#include "models/architecture/config.h"

namespace shardline {

/// The sizes of a published model, for counting and pricing. Leaves out positions and biases but those of queries, keys
/// and values; they are less than a thousandth of each model. The gated GELU of gemma-7b counts as SwiGLU, which is the
/// same work.
struct KnownModel {
  std::string name;
  TransformerConfig config;
};

/// tiny, llama2-13b, llama3-8b, llama3-70b, llama3-405b, qwen2.5-7b, gemma-7b, mixtral-8x7b, deepseek-v3 and gpt3.
const std::vector<KnownModel>& known_models();

/// True for the name of a known model.
bool is_known_model(const std::string& name);

/// The sizes of a known model, or those in the `config.json` at path `model`. Appends its remarks to `remarks`.
/// Throws UsageError as parse_sizes. If there is neither, throws UsageError with the nearest names.
TransformerConfig sizes_of_model(const std::string& model, std::vector<std::string>* remarks = nullptr);

}  // namespace shardline
