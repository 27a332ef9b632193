#include "tools/export.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/end_tokens.h"
#include "models/gguf/gguf_tokens.h"
#include "models/gguf/gguf_writer.h"
#include "runtime/base/check.h"
#include "runtime/trace/clock.h"
#include "tools/job.h"
#include "tools/options/number_option.h"
#include "tools/output/text.h"
#include "tools/tokens/progress_line.h"
#include "tools/tokens/tokenizer_option.h"

namespace shardline::tools {
namespace {

constexpr const char* kExportFooter = R"(Example:
  shardline export --load build/model --gguf model.gguf --dtype bf16

The file is a GGUF, version 3, which llama.cpp reads: weights, sizes, and tokenizer with the same ids. Norms, biases and
routers of experts are f32 whatever --dtype says. q8_0 needs rows that are a multiple of 32 elements. A model that reads
bytes gets a vocabulary in which each byte is a token. Rank 0 writes; weights are never all in memory. See docs/gguf.md.)";

struct ExportOptions {
  CommonOptions common;
  std::string load;
  std::string gguf;
  std::string dtype = "f32";
  std::string tokenizer;
  std::optional<Index> context;
};

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const GgufType type : kGgufTypes) names.emplace_back(name_of(type));
  return names;
}

GgufType type_of(const std::string& name) {
  for (const GgufType type : kGgufTypes) {
    if (name == name_of(type)) return type;
  }
  usage_error("--dtype {}: {} are known", name, listed(type_names()));
}

/// The tokens of the longest sequence that the file tells of.
Index longest_of(const ExportOptions& options, const Checkpoint& checkpoint) {
  if (options.context) return *options.context;
  const Index longest = checkpoint.sequence > 0 ? checkpoint.sequence : checkpoint.longest;
  require(
      longest > 0,
      "{}: neither the weights nor config.json (max_position_embeddings) say how long sequences may be; --context N "
      "says it",
      options.load);
  return longest;
}

/// Collective over all ranks: the tokens of the model, by --tokenizer or the tokenizer in its folder, or bytes.
GgufTokens tokens_of(const Job& job, const ExportOptions& options, const Checkpoint& checkpoint) {
  const ModelTokens tokens = tokens_for(job, options.tokenizer, options.load, checkpoint);
  return gguf_tokens(tokens.encoder, tokens.path, checkpoint.config.vocab,
                     end_tokens_of(job.world(), options.load, tokens.encoder));
}

/// Collective over all ranks; rank 0 writes. Returns the time that it took.
Seconds write_file(Job& job, const GgufModel& model, const Checkpoint& checkpoint, const std::string& path) {
  const Seconds begin = now();
  job.other_work().begin();
  mpi::on_root(job.world(), 0, [&] {
    ProgressLine progress(layout_of(model).bytes, job.root());
    write_gguf(model, *checkpoint.files, path, [&](Index bytes) { progress.show(bytes); });
    return std::string();
  });
  job.other_work().end();
  return now() - begin;
}

Json export_record(const Job& job, const ExportOptions& options, const GgufModel& model, Seconds time) {
  const Index bytes = layout_of(model).bytes;
  Json record = job.header("shardline.export/1", "export");
  record["gguf"] = options.gguf;
  record["architecture"] = model.architecture;
  record["dtype"] = options.dtype;
  record["tensors"] = model.sources.size();
  record["bytes"] = bytes;
  record["time_s"] = time.value;
  record["bytes_per_s"] = static_cast<double>(bytes) / time.value;
  return record;
}

int export_model(const ExportOptions& options) {
  require(options.gguf != "-", "--gguf -: the file appears whole under its name, so standard output cannot be it");
  const GgufType type = type_of(options.dtype);
  CommandFiles files = files_of(options.common);
  files.inputs.push_back({"--tokenizer", "tokenizer", options.tokenizer});
  files.input_folders.push_back({"--load", "model", options.load});
  files.outputs.push_back({"--gguf", "model", options.gguf});
  Job job(options.common, files);
  const Checkpoint checkpoint = open_checkpoint(job.world(), options.load);
  for (const std::string& remark : checkpoint.remarks) job.note(remark);
  GgufModel model = gguf_model(checkpoint.config, longest_of(options, checkpoint), type);
  const GgufTokens tokens = tokens_of(job, options, checkpoint);
  for (const std::string& remark : tokens.remarks) job.note(remark);
  model.metadata.insert(model.metadata.end(), tokens.metadata.begin(), tokens.metadata.end());
  const Seconds time = write_file(job, model, checkpoint, options.gguf);
  const Bytes bytes(static_cast<double>(layout_of(model).bytes));
  job.print(fmt::format("{}: {} tensors in {}, architecture {}, {} in {}, {}\n", options.gguf, model.sources.size(),
                        options.dtype, model.architecture, to_string(bytes), to_string(time), to_string(bytes / time)));
  job.write_json(export_record(job, options, model, time));
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand("export", "Write a model as a GGUF file, which llama.cpp reads");
  const auto options = std::make_shared<ExportOptions>();
  command->add_option("--load", options->load, "Folder of the model: config.json and weights, in one file or several")
      ->required()
      ->check(not_empty());
  command->add_option("--gguf", options->gguf, "The file to write; not in the folder of the model")
      ->required()
      ->check(not_empty());
  command->add_option("--dtype", options->dtype, "Element type of the weights: " + listed(type_names(), "or"))
      ->capture_default_str()
      ->check(not_empty());
  command
      ->add_option("--tokenizer", options->tokenizer,
                   "A tokenizer.json (byte-level BPE). Default: that in the folder of the model; without one, bytes")
      ->check(not_empty());
  add_whole_option(
      *command,
      {.name = "--context",
       .help = "Tokens of the longest sequence [those of training, or max_position_embeddings of config.json]",
       .least = 1,
       .most = 2147483647},
      options->context);
  add_json_option(*command, options->common);
  command->footer(kExportFooter);
  command->callback([options, &run] { run = [options] { return export_model(*options); }; });
}

}  // namespace shardline::tools
