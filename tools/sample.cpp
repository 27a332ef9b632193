#include "tools/sample.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "models/generation/inference.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "tools/job.h"
#include "tools/options/number_option.h"

namespace shardline::tools {
namespace {

struct SampleOptions {
  CommonOptions common;
  std::string strategy;
  std::string load;
  std::string prompt;
  Index tokens = 400;
  double temperature = 0.7;
};

constexpr const char* kSampleFooter = R"(Example:
  shardline sample --load build/model --prompt "#include <vector>" --tokens 200

A token is a byte. A temperature of 0 always takes the likeliest one. The model sees as many bytes back as the
sequences it was trained on.)";

void check_options(const SampleOptions& options) {
  require(!options.prompt.empty(), "--prompt is empty: give at least one byte to continue");
}

/// Draws a byte from softmax(logits / temperature). `uniform` is in [0, 1).
char draw(const std::vector<double>& logits, double temperature, double uniform) {
  constexpr std::size_t kBytes = 256;
  const auto end = logits.begin() + static_cast<std::ptrdiff_t>(std::min(kBytes, logits.size()));
  const auto likeliest = std::max_element(logits.begin(), end);
  if (temperature == 0) return static_cast<char>(likeliest - logits.begin());
  std::vector<double> weights;
  double sum = 0;
  for (auto logit = logits.begin(); logit != end; ++logit) {
    weights.push_back(std::exp((*logit - *likeliest) / temperature));
    sum += weights.back();
  }
  double left = uniform * sum;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return static_cast<char>(i);
  }
  return static_cast<char>(likeliest - logits.begin());
}

int sample(const SampleOptions& options) {
  check_options(options);
  CommandFiles files = files_of(options.common);
  files.input_folders.push_back({"--load", "model", options.load});
  Job job(options.common, files);
  const Checkpoint checkpoint = open_checkpoint(job.world(), options.load);
  for (const std::string& remark : checkpoint.remarks) job.note(remark);
  require(checkpoint.config.vocab >= 256, "{}: vocab_size {}: text is bytes, so at least 256", options.load,
          checkpoint.config.vocab);
  constexpr Index kDefaultWindow = 128;
  const AbstractMesh& mesh = job.mesh().axes();
  const InferencePlan plan(checkpoint.config, parse_strategy(options.strategy, mesh), mesh,
                           checkpoint.sequence > 0 ? checkpoint.sequence : kDefaultWindow, job.dtype());
  job.require_memory("sample", {.own = plan.memory(job.mesh().rank()), .shared = Bytes(0)},
                     [](const auto&) { return "a strategy that shards more, or more nodes, would need less"; });
  Inference inference(job.engine(), plan, checkpoint);
  job.introduce();
  const CounterRng rng(job.seed(), "sampling");
  std::string text = options.prompt;
  job.print(text);
  for (Index i = 0; i < options.tokens; ++i) {
    text.push_back(draw(inference.logits_after(text), options.temperature, rng.uniform(i)));
    job.print(text.substr(text.size() - 1));
  }
  job.print("\n");
  Json record = job.header("shardline.sample/1", "sample");
  record["prompt"] = options.prompt;
  record["text"] = text;
  job.write_json(record);
  return 0;
}

}  // namespace

void add_sample(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand("sample", "Continue a text with a trained model");
  const auto options = std::make_shared<SampleOptions>();
  options->common.dtypes = {DType::f32, DType::f64};
  add_common_options(*command, options->common);
  command->add_option("--load", options->load, "Folder of the model: config.json and weights, in one file or several")
      ->required()
      ->check(not_empty());
  command->add_option("--prompt", options->prompt, "Text to continue")->required();
  add_whole_option(*command, {.name = "--tokens", .help = "Bytes to add", .least = 0, .most = 1000000000},
                   options->tokens);
  add_decimal_option(*command, {.name = "--temperature", .help = "0 takes the likeliest byte"}, options->temperature);
  command->add_option("--strategy", options->strategy, "Roles on mesh axes, fsdp=X,tp=Y; default fsdp on the only axis")
      ->check(not_empty());
  command->footer(kSampleFooter);
  command->callback([options, &run] { run = [options] { return sample(*options); }; });
}

}  // namespace shardline::tools
