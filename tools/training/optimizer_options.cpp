#include "tools/training/optimizer_options.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/lists.h"
#include "runtime/base/number.h"
#include "tools/options/number_option.h"

namespace shardline::tools {
namespace {

constexpr const char* kAdamW = "adamw";
constexpr const char* kDescent = "descent";

/// Plain descent has no moments, no decay and no clipping.
void refuse_options_of_adamw(const OptimizerFlags& flags) {
  std::vector<std::string> given;
  if (flags.clip) given.push_back(fmt::format("--clip {}", *flags.clip));
  if (flags.weight_decay) given.push_back(fmt::format("--weight-decay {}", *flags.weight_decay));
  if (!flags.betas.empty()) given.push_back("--betas " + flags.betas);
  if (flags.decays_all) given.emplace_back("--decay-all");
  require(given.empty(), "{}: --optimizer descent does not have it, only adamw does; leave the option out",
          given.empty() ? "" : given.front());
}

/// The two numbers of --betas.
std::pair<double, double> betas_of(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& item : split(text, ',')) {
    const std::optional<double> number = decimal_number(item);
    if (number && *number >= 0 && *number < 1) numbers.push_back(*number);
  }
  require(numbers.size() == 2 && split(text, ',').size() == 2,
          "--betas {}: two numbers from 0 to below 1, as in 0.9,0.95", text);
  return {numbers[0], numbers[1]};
}

}  // namespace

void add_optimizer_options(CLI::App& command, OptimizerFlags& flags) {
  command.add_option("--optimizer", flags.name, "adamw, or descent: plain gradient descent")
      ->capture_default_str()
      ->check(not_empty());
  add_decimal_option(
      command,
      {.name = "--lr", .help = "Learning rate after warm-up; default 3e-3, of mlp by its sizes", .positive = true},
      flags.learning_rate);
  add_whole_option(command,
                   {.name = "--warmup",
                    .help = "Steps in which the learning rate rises from 0 to --lr along a line; default a tenth of "
                            "--steps, at least 1 and at most 20",
                    .least = 0},
                   flags.warmup);
  add_decimal_option(command,
                     {.name = "--min-lr",
                      .help = "Learning rate of the last step, to which a cosine lowers --lr after a warm-up that is "
                              "shorter than the run; --lr for a constant rate; default a tenth of --lr"},
                     flags.least_rate);
  add_decimal_option(
      command,
      {.name = "--clip", .help = "Of adamw: the largest norm of all gradients together; 0 for no limit; default 1"},
      flags.clip);
  add_decimal_option(command,
                     {.name = "--weight-decay",
                      .help = "Of adamw: the share of a weight that a step takes away, times the learning rate; "
                              "default 0.1"},
                     flags.weight_decay);
  command
      .add_option("--betas", flags.betas,
                  "Of adamw: how much of the means of gradients and of their squares a step keeps; default 0.9,0.95")
      ->check(not_empty());
  command.add_flag("--decay-all", flags.decays_all,
                   "Of adamw: weight decay also of norms and embeddings, not only of matrices that multiply");
}

Optimizer optimizer_of(const OptimizerFlags& flags) {
  if (flags.name == kDescent) {
    refuse_options_of_adamw(flags);
    return PlainDescent{};
  }
  require(flags.name == kAdamW, "--optimizer {}: {} or {}", flags.name, kAdamW, kDescent);
  AdamW adamw{{.weight_decay = flags.weight_decay.value_or(0.1), .clip_norm = flags.clip.value_or(1.0)},
              flags.decays_all};
  if (!flags.betas.empty()) std::tie(adamw.beta1, adamw.beta2) = betas_of(flags.betas);
  return adamw;
}

void give_rates(const OptimizerFlags& flags, double usual, TrainingOptions& options) {
  const double rate = flags.learning_rate.value_or(usual);
  options.learning_rate = rate;
  options.warmup = flags.warmup.value_or(std::min<Index>(20, std::max<Index>(1, options.steps / 10)));
  if (!flags.least_rate) return;
  require(*flags.least_rate <= rate, "--min-lr {}: at most the learning rate after warm-up (--lr), which is {}",
          *flags.least_rate, rate);
  options.least_share = *flags.least_rate / rate;
}

Json optimizer_json(const TrainingOptions& options) {
  const auto* adamw = std::get_if<AdamW>(&options.optimizer);
  Json json = {{"name", adamw != nullptr ? kAdamW : kDescent},
               {"learning_rate", options.learning_rate},
               {"min_learning_rate", options.learning_rate * options.least_share},
               {"warmup", options.warmup}};
  if (adamw == nullptr) return json;
  json["betas"] = {adamw->beta1, adamw->beta2};
  json["eps"] = adamw->eps;
  json["weight_decay"] = adamw->weight_decay;
  json["decay_all"] = adamw->decays_all;
  json["clip"] = adamw->clip_norm;
  return json;
}

}  // namespace shardline::tools
