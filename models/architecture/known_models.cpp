#include "models/architecture/known_models.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/check.h"
#include "runtime/base/nearest.h"
#include "runtime/host/files.h"

namespace shardline {
namespace {

TransformerConfig tied(TransformerConfig config) {
  config.tied = true;
  return config;
}

TransformerConfig with_biases(TransformerConfig config) {
  config.qkv_biases = true;
  return config;
}

TransformerConfig without_gate(TransformerConfig config) {
  config.mlp = MlpForm::gelu;
  return config;
}

TransformerConfig with_experts(TransformerConfig config, Experts experts) {
  config.experts = experts;
  return config;
}

/// Without the module that predicts a further token, and without the biases of its router.
TransformerConfig deepseek_v3() {
  TransformerConfig config = with_experts({129280, 7168, 61, 128, 128, 128, 2048}, {.count = 256, .chosen = 8});
  config.common_mlps = {.shared = 1, .dense_layers = 3, .dense_d_ff = 18432};
  config.latent = {.query_rank = 1536, .cached = 512, .rope_dim = 64, .value_dim = 128};
  return config;
}

}  // namespace

const std::vector<KnownModel>& known_models() {
  // vocab, d_model, layers, heads, kv_heads, head_dim, d_ff
  static const std::vector<KnownModel> models = {
      {"tiny", tiny_config()},
      {"llama2-13b", {32000, 5120, 40, 40, 40, 128, 13824}},
      {"llama3-8b", {128256, 4096, 32, 32, 8, 128, 14336}},
      {"llama3-70b", {128256, 8192, 80, 64, 8, 128, 28672}},
      {"llama3-405b", {128256, 16384, 126, 128, 8, 128, 53248}},
      {"qwen2.5-7b", with_biases({152064, 3584, 28, 28, 4, 128, 18944})},
      {"gemma-7b", tied({256000, 3072, 28, 16, 16, 256, 24576})},
      {"mixtral-8x7b", with_experts({32000, 4096, 32, 32, 8, 128, 14336, 1e-5, 1e6}, {.count = 8, .chosen = 2})},
      {"deepseek-v3", deepseek_v3()},
      {"gpt3", tied(without_gate({50257, 12288, 96, 96, 96, 128, 49152}))},
  };
  return models;
}

bool is_known_model(const std::string& name) {
  const std::vector<KnownModel>& known = known_models();
  return std::any_of(known.begin(), known.end(), [&](const KnownModel& each) { return each.name == name; });
}

TransformerConfig sizes_of_model(const std::string& model, std::vector<std::string>* remarks) {
  std::vector<std::string> names;
  for (const KnownModel& known : known_models()) {
    if (known.name == model) return known.config;
    names.push_back(known.name);
  }
  std::error_code error;
  if (std::filesystem::exists(model, error)) {
    const ReadConfig read = parse_sizes(read_description(model), model);
    if (remarks != nullptr) remarks->insert(remarks->end(), read.remarks.begin(), read.remarks.end());
    return read.config;
  }
  usage_error("model \"{}\" is not known, nor is there such a file; nearest are {}; there are {}", model,
              fmt::join(nearest(model, names), ", "), fmt::join(names, ", "));
}

}  // namespace shardline
