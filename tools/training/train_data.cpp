#include "tools/training/train_data.h"

#include <fmt/ranges.h>

#include <cmath>

#include "models/data/byte_data.h"
#include "models/data/made_data.h"
#include "models/data/prompt_data.h"
#include "models/data/token_data.h"
#include "runtime/base/check.h"
#include "tools/tokens/encoded_texts.h"

namespace shardline::tools {
namespace {

TrainData made_rows(const MlpConfig& config, std::uint64_t seed) {
  return {.samples = std::make_unique<MadeData>(config.d_model, seed),
          .description = fmt::format("rows: made by seed {}; the target is a fixed linear map of the input", seed),
          .bigram_loss = {},
          .uniform_loss = {}};
}

/// Rank 0 reads for all. Collective over all ranks in each call.
std::function<std::string(const std::string&)> reader(const Job& job) {
  return [&job](const std::string& path) { return mpi::on_root(job.world(), 0, [&] { return read_file(path); }); };
}

std::string text_about(const EncodedTexts& texts, const std::string& tokenizer) {
  return fmt::format("tokens in memory: {} of {} bytes, from {} bytes of text in {} file{}, by {}\n", texts.count,
                     texts.width, texts.bytes, texts.tokens.size(), texts.tokens.size() == 1 ? "" : "s", tokenizer);
}

/// The token that ends documents in token files and encoded text; none if they are not told apart.
std::optional<std::int32_t> document_end(const TrainOptions& options) {
  if (!options.run.options.pack) return std::nullopt;
  return options.tokenizer->end_tokens().front();
}

TrainData token_files(const Job& job, const TrainOptions& options) {
  const TrainingRun& run = options.run;
  const Index vocab = std::get<TransformerConfig>(run.config).vocab;
  const int rank = job.world().rank();
  EncodedTexts texts;
  if (options.data.encodes) texts = encode_texts(job.world(), encoded_files(options.data), *options.tokenizer);
  const auto encoded = [&](const std::string& path) { return texts.tokens.at(path); };
  std::unique_ptr<TokenData> tokens;
  mpi::on_all(job.world(), [&] {
    try {
      tokens = std::make_unique<TokenData>(
          TokenDataOptions{.groups = options.data.tokens,
                           .held_out = options.data.held_out,
                           .sequence = run.options.batch.tokens,
                           .vocab = vocab,
                           .seed = job.seed(),
                           .open = options.data.encodes ? TokenOpener(encoded) : TokenOpener{},
                           .document_end = document_end(options)});
    } catch (const UsageError& error) {
      if (rank == 0) throw;
      usage_error("rank {}: {}", rank, error.what());
    }
  });
  std::string mine = tokens->description();
  if (options.data.encodes) mine += "; " + options.tokenizer->description();
  const std::string first = job.world().broadcast(mine, 0);
  mpi::on_all(job.world(), [&] {
    require(mine == first, "--data: rank {} sees other files than rank 0: \"{}\" and \"{}\"", rank, mine, first);
  });
  return {.samples = std::move(tokens),
          .description = mine,
          .encoded = options.data.encodes ? text_about(texts, options.tokenizer_path) : "",
          .bigram_loss = {},
          .uniform_loss = std::log(static_cast<double>(vocab))};
}

TrainData lines_of_prompts(const Job& job, const TrainOptions& options) {
  TextEncoder bytes;
  TextEncoder& encoder = options.tokenizer ? *options.tokenizer : bytes;
  auto lines = std::make_unique<PromptData>(PromptDataOptions{.groups = options.data.lines,
                                                              .held_out = options.data.held_out,
                                                              .sequence = options.run.options.batch.tokens,
                                                              .seed = job.seed(),
                                                              .masks_prompts = options.data.masks_prompts,
                                                              .packs = options.run.options.pack},
                                            encoder, reader(job));
  if (encoder.end_tokens().empty()) {
    job.note(
        fmt::format("{}: no end token, so nothing ends the answers of --data, and the model does not learn to "
                    "stop. An end token is the first of these added tokens: {}",
                    options.tokenizer_path, fmt::join(TextEncoder::end_token_names(), ", ")));
  }
  if (lines->cut() > 0) {
    job.note(fmt::format("lines of --data longer than --seq {1} and one more token, which are cut at the end: {0}",
                         lines->cut(), options.run.options.batch.tokens));
  }
  if (lines->left_out() > 0) {
    job.note(fmt::format("lines of --data that are left out, since no token of them counts{1}: {0}", lines->left_out(),
                         options.data.masks_prompts ? ", as their prompts fill the sequence" : ""));
  }
  std::string description = lines->description();
  if (!encoder.reads_bytes()) description += "; " + encoder.description();
  return {.samples = std::move(lines),
          .description = std::move(description),
          .bigram_loss = {},
          .uniform_loss = std::log(static_cast<double>(encoder.vocabulary_size()))};
}

}  // namespace

TrainData train_data(const Job& job, const TrainOptions& options) {
  const TrainingRun& run = options.run;
  if (const auto* mlp = std::get_if<MlpConfig>(&run.config)) return made_rows(*mlp, job.seed());
  if (!options.data.tokens.empty()) return token_files(job, options);
  if (!options.data.lines.empty()) return lines_of_prompts(job, options);
  auto text = std::make_unique<ByteData>(options.data.texts, run.options.batch.tokens, job.seed(), reader(job));
  const ByteData& bytes = *text;
  return {.samples = std::move(text),
          .description = fmt::format("text: {} bytes to train on, {} held out", bytes.training_text().size(),
                                     bytes.held_out_text().size()),
          .bigram_loss = [&bytes](Index windows) { return bytes.bigram_loss(windows); },
          .uniform_loss = std::log(256.0)};
}

}  // namespace shardline::tools
