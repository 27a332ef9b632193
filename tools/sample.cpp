#include "tools/sample.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "models/generation/inference.h"
#include "models/tokens/utf8.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "tools/job.h"
#include "tools/options/number_option.h"
#include "tools/tokens/tokenizer_option.h"

namespace shardline::tools {
namespace {

struct SampleOptions {
  CommonOptions common;
  std::string strategy;
  std::string load;
  std::string tokenizer;
  std::string prompt;
  Index tokens = 400;
  double temperature = 0.7;
};

constexpr const char* kSampleFooter = R"(Example:
  shardline sample --load build/model --prompt "#include <vector>" --tokens 200

The prompt becomes tokens by --tokenizer, or by the tokenizer.json in the folder of the model. A model that was trained
on text without a tokenizer reads bytes, and a token is a byte. Added tokens may stand in the prompt, as <|endoftext|>.
The text ends early with any token that ends a text or an answer: <|endoftext|>, <|end_of_text|>, </s>, <|im_end|>,
<|eot_id|>, or byte 0 of bytes.
The model sees as many tokens back as the sequences it was trained on.)";

void check_options(const SampleOptions& options) {
  require(!options.prompt.empty(), "--prompt is empty: give at least one byte to continue");
}

/// Draws a token from softmax(logits / temperature), of those that the encoder has. `uniform` is in [0, 1).
std::int32_t draw(std::vector<double> logits, const TextEncoder& encoder, double temperature, double uniform) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (!encoder.has(static_cast<std::int32_t>(id))) logits[id] = kNever;
  }
  const auto place = std::max_element(logits.begin(), logits.end());
  const auto likeliest = static_cast<std::int32_t>(place - logits.begin());
  if (temperature == 0) return likeliest;
  const double most = *place;
  double sum = 0;
  for (double& logit : logits) {
    logit = std::exp((logit - most) / temperature);
    sum += logit;
  }
  double left = uniform * sum;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    left -= logits[id];
    if (left < 0) return static_cast<std::int32_t>(id);
  }
  return likeliest;
}

/// Collective over all ranks: what makes tokens of the prompt.
TextEncoder encoder_of(const Job& job, const SampleOptions& options, const Checkpoint& checkpoint) {
  const Index vocab = checkpoint.config.vocab;
  const std::string path = options.tokenizer.empty() ? tokenizer_in(job.world(), options.load) : options.tokenizer;
  if (path.empty()) {
    require_reads_bytes(checkpoint, options.load);
    return {};
  }
  TextEncoder encoder = read_tokenizer(job.world(), path);
  require(encoder.vocabulary_size() <= vocab,
          "{}: the tokenizer has {} ids, but the model has a vocabulary of {} (vocab_size)", path,
          encoder.vocabulary_size(), vocab);
  note_other_tokenizer(job, encoder, path, options.load);
  return encoder;
}

/// Prints text as it comes. The first bytes of a character wait for the others.
class TextStream {
 public:
  explicit TextStream(const Job& job) : job_(job) {}

  void add(const std::string& bytes) {
    held_ += bytes;
    const std::size_t whole = without_part_of_character(held_);
    job_.print(held_.substr(0, whole));
    held_.erase(0, whole);
  }

  void end() { job_.print(held_ + "\n"); }

 private:
  const Job& job_;
  std::string held_;
};

int sample(const SampleOptions& options) {
  check_options(options);
  CommandFiles files = files_of(options.common);
  files.inputs.push_back({"--tokenizer", "tokenizer", options.tokenizer});
  files.input_folders.push_back({"--load", "model", options.load});
  Job job(options.common, files);
  const Checkpoint checkpoint = open_checkpoint(job.world(), options.load);
  for (const std::string& remark : checkpoint.remarks) job.note(remark);
  TextEncoder encoder = encoder_of(job, options, checkpoint);
  std::vector<std::int32_t> ids = encoder.encode(options.prompt);
  require(!ids.empty(), "--prompt: the tokenizer makes no token of it");
  const std::size_t prompt_tokens = ids.size();
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
  const std::vector<std::int32_t> ends = encoder.end_tokens();
  TextStream stream(job);
  stream.add(text);
  for (Index i = 0; i < options.tokens; ++i) {
    ids.push_back(draw(inference.logits_after(ids), encoder, options.temperature, rng.uniform(i)));
    if (std::find(ends.begin(), ends.end(), ids.back()) != ends.end()) break;
    const std::string bytes = encoder.decode({ids.back()});
    text += bytes;
    stream.add(bytes);
  }
  stream.end();
  Json record = job.header("shardline.sample/1", "sample");
  record["prompt"] = options.prompt;
  record["text"] = text;
  record["prompt_tokens"] = prompt_tokens;
  record["tokens"] = std::vector<std::int32_t>(ids.begin() + static_cast<std::ptrdiff_t>(prompt_tokens), ids.end());
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
  command
      ->add_option("--tokenizer", options->tokenizer,
                   "A tokenizer.json (byte-level BPE). Default: that in the folder of the model; without one, bytes")
      ->check(not_empty());
  command->add_option("--prompt", options->prompt, "Text to continue")->required();
  add_whole_option(*command, {.name = "--tokens", .help = "The most tokens to add", .least = 0, .most = 1000000000},
                   options->tokens);
  add_decimal_option(*command, {.name = "--temperature", .help = "0 takes the likeliest token"}, options->temperature);
  command->add_option("--strategy", options->strategy, "Roles on mesh axes, fsdp=X,tp=Y; default fsdp on the only axis")
      ->check(not_empty());
  command->footer(kSampleFooter);
  command->callback([options, &run] { run = [options] { return sample(*options); }; });
}

}  // namespace shardline::tools
