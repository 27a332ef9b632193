#include "tools/sample.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "models/checkpoint.h"
#include "models/strategies.h"
#include "program/check.h"
#include "program/execute.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "runtime/base/result_error.h"
#include "runtime/blocks.h"
#include "runtime/dist_tensor.h"
#include "runtime/finite.h"
#include "tools/job.h"
#include "tools/load_memory.h"
#include "tools/number_option.h"

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
  require(options.common.dtype != "bf16", "--dtype bf16: sampling runs in f32 or f64");
}

/// The model on the mesh, ready to give the logits that follow a text.
class Inference {
 public:
  Inference(Job& job, const Checkpoint& checkpoint, const std::string& strategy, Index window)
      : job_(job), window_(window), model_(make_inference(checkpoint.config, {1, window})) {
    const AbstractMesh& mesh = job.mesh().axes();
    program_ = partition(model_.program, mesh, declare(model_.program, mesh, parse_strategy(strategy, mesh)));
    check(program_);
    require_memory();
    // Nothing here is compared with a price, so any estimate serves.
    const ElementTypes types{.real = job.dtype()};
    executor_ = std::make_unique<Executor>(program_, in_order(program_), job.engine(), types,
                                           std::vector<StepEstimate>(program_.steps.size()));
    for (const ModelParameter& parameter : model_.parameters) {
      const Array& array = model_.program.array(parameter.array);
      const Sharding& sharding = program_.version(program_.inputs.at(parameter.array)).sharding;
      const Tensor whole = from_checkpoint(checkpoint, parameter, array, job.dtype());
      executor_->set(parameter.array, whole.slice(box(array.shape, sharding, mesh, job.mesh().rank())));
    }
  }

  /// Collective over the mesh: logits of the byte after the last of `text`, on every rank. Throws ResultError when one
  /// is not finite.
  std::vector<double> logits_after(const std::string& text) {
    const Index seen = std::min<Index>(static_cast<Index>(text.size()), window_);
    const std::string recent = text.substr(text.size() - static_cast<std::size_t>(seen));
    Tensor ids = Tensor::zeros(DType::i32, {1, window_});
    for (Index i = 0; i < seen; ++i) {
      ids.view<std::int32_t>()[i] = static_cast<unsigned char>(recent[static_cast<std::size_t>(i)]);
    }
    const AbstractMesh& mesh = job_.mesh().axes();
    const Sharding& sharding = program_.version(program_.inputs.at(model_.ids)).sharding;
    executor_->set(model_.ids, ids.slice(box({1, window_}, sharding, mesh, job_.mesh().rank())));
    executor_->run();
    executor_->forget_times();

    const Array& array = model_.program.array(model_.logits);
    const ArraySpec spec{.name = array.name,
                         .dims = array.dims,
                         .shape = array.shape,
                         .sharding = program_.version(program_.finals.at(model_.logits)).sharding,
                         .dtype = job_.dtype()};
    const Tensor whole = DistTensor::from_local(job_.mesh(), spec, executor_->get(model_.logits)).gather();
    const Tensor last = whole.slice({{0, 1}, {seen - 1, seen}, {0, array.shape[2]}}).as(DType::f64);
    if (!non_finite(last).empty()) {
      throw ResultError(fmt::format("the logits after {} bytes hold {}: sums overflow in {}{}", text.size(),
                                    non_finite(last), name_of(job_.dtype()),
                                    job_.dtype() == DType::f64 ? "" : "; --dtype f64 may help"));
    }
    const View<const double> values = std::as_const(last).view<double>();
    return {values.begin(), values.end()};
  }

 private:
  /// Collective over the mesh: refuses what cannot be had, before it is allocated.
  void require_memory() const {
    const ElementTypes types{.real = job_.dtype()};
    double largest =
        0;  // a whole parameter, turned into the dims of the program and converted; or the logits, gathered
    for (const Array& array : model_.program.arrays) {
      if (array.role != Role::parameter && &array != &model_.program.array(model_.logits)) continue;
      largest = std::max(largest, static_cast<double>(element_count(array.shape)));
    }
    const Bytes peak = Liveness(program_, in_order(program_)).peak(types, job_.mesh().rank());
    job_.require_memory("sample", {.own = peak + Bytes(2 * 8 * largest), .shared = Bytes(0)},
                        [](const auto&) { return "a strategy that shards more, or more nodes, would need less"; });
  }

  Job& job_;
  Index window_;
  Transformer model_;
  RankProgram program_;
  std::unique_ptr<Executor> executor_;
};

/// Draws a byte from softmax(logits / temperature) with `uniform` in [0, 1).
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
  require_memory_to_load(job, options.load);
  const Checkpoint checkpoint = load_checkpoint(job.world(), options.load);
  for (const std::string& remark : checkpoint.remarks) job.note(remark);
  require(checkpoint.config.vocab >= 256, "{}: vocab_size {}: text is bytes, so at least 256", options.load,
          checkpoint.config.vocab);
  constexpr Index kDefaultWindow = 128;
  Inference inference(job, checkpoint, options.strategy,
                      checkpoint.sequence > 0 ? checkpoint.sequence : kDefaultWindow);
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
  add_common_options(*command, options->common);
  command->add_option("--load", options->load, "Folder of the model: config.json and weights, in one file or several")
      ->required();
  command->add_option("--prompt", options->prompt, "Text to continue")->required();
  add_whole_option(*command, {.name = "--tokens", .help = "Bytes to add", .least = 0}, options->tokens);
  add_decimal_option(*command, {.name = "--temperature", .help = "0 takes the likeliest byte"}, options->temperature);
  command->add_option("--strategy", options->strategy, "Roles on mesh axes, as for train");
  command->footer(kSampleFooter);
  command->callback([options, &run] { run = [options] { return sample(*options); }; });
}

}  // namespace shardline::tools
