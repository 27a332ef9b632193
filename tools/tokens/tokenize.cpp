#include "tools/tokens/tokenize.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

#include "models/data/text_series.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/trace/clock.h"
#include "tools/job.h"
#include "tools/options/named_files.h"
#include "tools/tokens/encoded_texts.h"
#include "tools/tokens/progress_line.h"
#include "tools/tokens/token_output.h"
#include "tools/tokens/tokenizer_option.h"

namespace shardline::tools {
namespace {

constexpr const char* kTokenizeFooter = R"(Example:
  shardline tokenize --tokenizer tokenizer.json --data 'books/*.txt' --out books.bin --end-token '<|endoftext|>'
  mpirun -n 2 shardline train --model config.json --tokenizer tokenizer.json --data books.bin

The file has the header of llm.c: tokens of two bytes for vocabularies of at most 65536 tokens, else of four. Each rank
encodes a part of the texts, and the tokens are those of the whole texts on any number of ranks. No text is held in memory.)";

struct TokenizeOptions {
  CommonOptions common;
  std::string tokenizer;
  std::vector<std::string> data;
  std::string out;
  std::string end_token;
};

/// What was done.
struct TokenizeTally {
  Index documents = 0;
  Index bytes = 0;
  Index tokens = 0;
  Seconds time = Seconds(0);

  double bytes_per_token() const { return static_cast<double>(bytes) / static_cast<double>(tokens); }
  BytesPerSecond rate() const { return Bytes(static_cast<double>(bytes)) / time; }
};

/// The id of --end-token.
std::optional<std::int32_t> end_token_of(const TokenizeOptions& options, const TextEncoder& encoder) {
  if (options.end_token.empty()) return std::nullopt;
  const std::optional<std::int32_t> id = encoder.tokenizer()->added_token(options.end_token);
  require(id.has_value(), "--end-token {}: {} has no added token of this name", options.end_token, options.tokenizer);
  return id;
}

/// Collective over all ranks: encodes all texts into the file.
TokenizeTally write_tokens(Job& job, TextSeries& series, const std::string& path, std::size_t width) {
  const Seconds begin = now();
  TokenizeTally tally{.bytes = series.bytes()};
  TokenOutput output(job.world(), path, width);
  {
    ProgressLine progress(series.size(), job.root());
    const Index block = block_of_round(series.bytes(), job.world().size(), series.bytes());  // a rank keeps its part
    encode_in_rounds(series, job.world(), block, [&](const TextRound& round) {
      output.write(round);
      tally.documents += round.documents;
      progress.show(round.end);
    });
  }
  tally.tokens = output.tokens();
  require(tally.tokens > 0, "--data: the texts are empty; they give no token");
  output.commit();
  tally.time = now() - begin;
  return tally;
}

Json tokenize_record(const Job& job, const TokenizeTally& tally, const TextEncoder& encoder, std::size_t width) {
  Json record = job.header("shardline.tokenize/1", "tokenize");
  record["documents"] = tally.documents;
  record["bytes"] = tally.bytes;
  record["tokens"] = tally.tokens;
  record["bytes_per_token"] = tally.bytes_per_token();
  record["time_s"] = tally.time.value;
  record["bytes_per_s"] = tally.rate().value;
  record["vocabulary"] = encoder.vocabulary_size();
  record["token_bytes"] = width;
  record["tokenizer_hash"] = fmt::format("{:016x}", hash_of(encoder.json()));
  return record;
}

int tokenize(const TokenizeOptions& options) {
  require(options.out != "-", "--out -: every rank writes at its place in a file, so standard output cannot be it");
  const std::vector<std::string> texts = files_named("--data", options.data);
  CommandFiles files = files_of(options.common);
  files.inputs.push_back({"--tokenizer", "tokenizer", options.tokenizer});
  for (const std::string& text : texts) files.inputs.push_back({"--data", "text", text});
  files.outputs.push_back({"--out", "tokens", options.out});
  Job job(options.common, files);
  require(options.out.ends_with(".bin"), "--out {}: train knows token files by the end of their name, .bin",
          options.out);
  TextEncoder encoder = read_tokenizer(job.world(), options.tokenizer);
  const std::size_t width = token_width(encoder.vocabulary_size());
  const auto series = open_series(
      job.world(), {.files = texts, .json_lines = true, .end_token = end_token_of(options, encoder)}, encoder);
  if (!encoder.tokenizer()->can_cut()) {
    job.note(fmt::format("{}: words depend on what is before them, so each document is encoded whole by one rank",
                         options.tokenizer));
  }
  job.other_work().begin();
  const TokenizeTally tally = write_tokens(job, *series, options.out, width);
  job.other_work().end();
  job.print(fmt::format("{} document{}, {} bytes, {} tokens of {} bytes: {:.3f} bytes per token\n{} in {}, {}\n",
                        tally.documents, tally.documents == 1 ? "" : "s", tally.bytes, tally.tokens, width,
                        tally.bytes_per_token(), options.out, to_string(tally.time), to_string(tally.rate())));
  job.write_json(tokenize_record(job, tally, encoder, width));
  return 0;
}

}  // namespace

void add_tokenize(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand("tokenize", "Write texts as a file of tokens, which train reads");
  const auto options = std::make_shared<TokenizeOptions>();
  command->add_option("--tokenizer", options->tokenizer, "A tokenizer.json of Hugging Face: byte-level BPE")
      ->required()
      ->check(not_empty());
  command
      ->add_option("--data", options->data,
                   "Text files, a document each, or .jsonl files, of which each line is a document, the \"text\" of an "
                   "object; a quoted pattern, as in 'a*.txt', names all files that match")
      ->required()
      ->check(not_empty());
  command->add_option("--out", options->out, "File for the tokens, FILE.bin")->required()->check(not_empty());
  command->add_option("--end-token", options->end_token, "Added token that follows each document, as <|endoftext|>")
      ->check(not_empty());
  add_json_option(*command, options->common);
  command->footer(kTokenizeFooter);
  command->callback([options, &run] { run = [options] { return tokenize(*options); }; });
}

}  // namespace shardline::tools
