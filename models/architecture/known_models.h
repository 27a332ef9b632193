#pragma once

#include <string>
#include <vector>

#include "models/architecture/config.h"

namespace shardline {

/// A published model by its sizes, as counting and pricing need them. Positions and biases, less than a thousandth of
/// any, are left out; gemma-7b's gated GELU counts as SwiGLU, which is as much work.
struct KnownModel {
  std::string name;
  TransformerConfig config;
};

/// tiny, llama2-13b, llama3-8b, llama3-70b, llama3-405b, gemma-7b and gpt3.
const std::vector<KnownModel>& known_models();

/// True of the name of one of them.
bool is_known_model(const std::string& name);

/// The sizes of a known model, or those in the `config.json` at path `model`, whose remarks are added to `remarks`.
/// Throws UsageError as parse_sizes, or where there is neither, with the nearest names.
TransformerConfig sizes_of_model(const std::string& model, std::vector<std::string>* remarks = nullptr);

}  // namespace shardline
