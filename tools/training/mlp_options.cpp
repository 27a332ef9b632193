#include "tools/training/mlp_options.h"

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "program/product/product.h"
#include "runtime/base/check.h"

namespace shardline::tools {
namespace {

/// A size of the model: its name, its value without --size, and the largest that is counted without overflow.
struct MlpSize {
  const char* name;
  Index value;
  Index most;
};

constexpr std::array<MlpSize, 4> kSizes{
    {{"B", 512, 1'000'000'000}, {"D", 256, 1'000'000}, {"F", 1024, 1'000'000}, {"L", 1, 1000}}};

/// All sizes by name.
std::map<std::string, Index> mlp_sizes(const std::string& text) {
  std::map<std::string, Index> sizes = parse_sizes(text);
  for (const auto& [name, value] : sizes) {
    const auto same = [&name = name](const MlpSize& size) { return name == size.name; };
    const auto* known = std::find_if(kSizes.begin(), kSizes.end(), same);
    require(known != kSizes.end(), "--size {}={}: sizes of --model mlp are B, D, F and L", name, value);
    require(value <= known->most, "--size {}={}: at most {}", name, value, known->most);
  }
  for (const MlpSize& size : kSizes) sizes.try_emplace(size.name, size.value);
  return sizes;
}

MlpActivation activation_of(const TrainFlags& flags) {
  if (flags.activation.empty() || flags.activation == "none") return MlpActivation::none;
  require(flags.activation == "gelu", "--activation {}: gelu or none", flags.activation);
  return MlpActivation::gelu;
}

/// Options of models that read text mean nothing here.
void refuse_options_of_text(const TrainFlags& flags) {
  const auto refuse = [](bool given, const char* option, const char* instead) {
    require(!given, "{}: --model mlp {}", option, instead);
  };
  refuse(!flags.data.files.empty(), "--data", "makes its own rows, by --seed; leave the option out");
  refuse(!flags.data.weights.empty(), "--data-weights", "makes its own rows, by --seed; leave the option out");
  refuse(!flags.data.held_out.empty(), "--val-data", "makes its own rows, by --seed; leave the option out");
  refuse(flags.data.masks_prompts, "--mask-prompt", "makes its own rows, which have no prompts");
  refuse(flags.data.packs, "--pack", "makes its own rows, which have no documents");
  refuse(!flags.data.tokenizer.empty(), "--tokenizer", "reads no text; leave the option out");
  refuse(flags.batch.has_value(), "--batch", "has its rows in --size, as in B=512");
  refuse(flags.sequence.has_value(), "--seq", "has no sequences; its rows are B of --size");
  refuse(flags.capacity.has_value(), "--capacity", "has no experts; leave the option out");
  refuse(!flags.token_order.empty(), "--token-order", "has no sequences; leave the option out");
  refuse(flags.optimizer.decays_all, "--decay-all", "has no parameters but matrices, and these decay without it");
  refuse(!flags.save.empty(), "--save", "is not saved; use --json for the losses");
  refuse(!flags.checkpoints.resume.empty(), "--resume", "is not saved, so no run goes on");
}

/// AdamW moves every weight by about the rate, and D or F such moves add up in an element of a product. Plain descent
/// moves by the gradient. That of a mean over D columns has a D in its denominator, and every layer adds its own move.
double usual_rate(const MlpConfig& config, const Optimizer& optimizer) {
  if (std::holds_alternative<PlainDescent>(optimizer)) {
    return 0.01 * static_cast<double>(config.d_model) / static_cast<double>(config.layers);
  }
  return 0.5 / static_cast<double>(std::max(config.d_model, config.d_ff));
}

}  // namespace

void add_mlp_options(CLI::App& command, TrainFlags& flags) {
  std::vector<std::string> defaults;
  for (const MlpSize& size : kSizes) defaults.push_back(fmt::format("{}={}", size.name, size.value));
  command
      .add_option("--size", flags.size,
                  fmt::format("Sizes of mlp: B rows a step over all ranks, L layers of In[B, D] *_D W_in[D, F] and "
                              "Tmp[B, F] *_F W_out[F, D]; default {}",
                              fmt::join(defaults, ",")))
      ->check(not_empty());
  command.add_option("--activation", flags.activation, "Between the products of mlp: gelu, or none, the default")
      ->check(not_empty());
}

bool trains_mlp(const TrainFlags& flags) { return flags.load.empty() && flags.model == "mlp"; }

void give_mlp(const TrainFlags& flags, TrainingRun& run) {
  refuse_options_of_text(flags);
  const std::map<std::string, Index> sizes = mlp_sizes(flags.size);
  const MlpConfig config{
      .d_model = sizes.at("D"), .d_ff = sizes.at("F"), .layers = sizes.at("L"), .activation = activation_of(flags)};
  run.config = config;
  run.options.batch = {sizes.at("B"), 1};
  give_rates(flags.optimizer, usual_rate(config, run.options.optimizer), run.options);
}

void check_strategy_of_mlp(const Strategy& strategy) {
  std::vector<std::string> legal;
  for (const AxisRole& role : training_roles()) {
    if (!splits_sequences(role.row()) && !splits_experts(role.row())) legal.push_back(role.name());
  }
  for (const auto& [axis, role] : strategy) {
    require(!splits_sequences(role.row()),
            "strategy \"{}\": role {} splits sequences, and --model mlp has none; its roles are {}",
            to_string(strategy), role.name(), fmt::join(legal, ", "));
  }
}

}  // namespace shardline::tools
