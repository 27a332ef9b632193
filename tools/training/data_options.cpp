#include "tools/training/data_options.h"

#include <fmt/ranges.h>
#include <glob.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "models/data/byte_data.h"
#include "runtime/base/check.h"
#include "tools/output/output.h"

namespace shardline::tools {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> found;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) found.push_back(line);
  return found;
}

/// The project's own sources and documentation, found by rank 0.
std::vector<std::string> own_texts() {
  return lines_of(mpi::on_root(mpi::Communicator::world(), 0, [] {
    const Corpus text = default_corpus(SHARDLINE_SOURCE_DIR);
    if (text.skipped > 0) {
      note(
          fmt::format("{} files or folders under {} are skipped: links to folders or in circles, what cannot be "
                      "read, names with a newline",
                      text.skipped, SHARDLINE_SOURCE_DIR));
    }
    return fmt::format("{}", fmt::join(text.files, "\n"));
  }));
}

/// The files that match a pattern of the shell, in alphabetical order. Throws UsageError if there are none.
std::vector<std::string> matches(const std::string& option, const std::string& pattern) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files;
  if (code == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  require(!files.empty(), "{} {}: no file matches", option, pattern);
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    require(file.find('\n') == std::string::npos, "{} {}: matches a name with a newline", option, pattern);
  }
  return files;
}

/// Collective over all ranks; rank 0 looks. The files of one item: itself, unless it is a pattern and no file has that
/// name.
std::vector<std::string> files_of_item(const std::string& option, const std::string& item) {
  if (item.find_first_of("*?[") == std::string::npos) return {item};
  return lines_of(mpi::on_root(mpi::Communicator::world(), 0, [&] {
    std::error_code error;
    if (std::filesystem::exists(item, error)) return item;
    return fmt::format("{}", fmt::join(matches(option, item), "\n"));
  }));
}

std::vector<std::string> joined(const std::vector<std::vector<std::string>>& items) {
  std::vector<std::string> files;
  for (const auto& item : items) files.insert(files.end(), item.begin(), item.end());
  return files;
}

bool is_token_file(const std::string& path) { return std::filesystem::path(path).extension() == ".bin"; }

/// The sizes of files together; those that cannot be seen have none.
std::uintmax_t bytes_of(const std::vector<std::string>& files) {
  std::uintmax_t sum = 0;
  for (const std::string& file : files) {
    std::error_code failure;
    const std::uintmax_t size = std::filesystem::file_size(file, failure);
    if (!failure) sum += size;
  }
  return sum;
}

/// The groups of files: each item of --data with its weight, or all as one.
std::vector<TokenGroup> groups_of(const DataFlags& flags, const std::vector<std::vector<std::string>>& items) {
  if (flags.weights.empty()) return {{joined(items)}};
  const std::vector<Index> weights = whole_weights(flags.weights, "--data-weights");
  require(weights.size() == items.size(),
          "--data-weights {}: {} weights for {} items of --data; a quoted pattern, as in 'a*.bin', is one item",
          flags.weights, weights.size(), items.size());
  std::vector<TokenGroup> groups;
  for (std::size_t i = 0; i < items.size(); ++i) groups.push_back({items[i], weights[i]});
  return groups;
}

}  // namespace

void add_data_options(CLI::App& command, DataFlags& flags) {
  command
      .add_option("--data", flags.files,
                  "Text files, read as bytes or encoded by --tokenizer, or token files of nanoGPT or llm.c (.bin); a "
                  "quoted pattern, as in 'a*.bin', names all files that match. Default this project's sources and "
                  "documentation")
      ->check(not_empty());
  command
      .add_option("--tokenizer", flags.tokenizer,
                  "A tokenizer.json (byte-level BPE) that encodes the text of --data; saved models take it along. "
                  "Default: that in the folder of --load or --resume, if there is one")
      ->check(not_empty());
  command
      .add_option("--data-weights", flags.weights,
                  "Shares of the items of --data in the samples, as in 0.7,0.3; only of tokens. Default: all files are "
                  "one")
      ->check(not_empty());
  command
      .add_option("--val-data", flags.held_out,
                  "Files to take the held-out loss of; only of tokens. Default: the last tenth of each file of --data")
      ->check(not_empty());
}

DataOptions data_options(const DataFlags& flags, bool tokenizer) {
  DataOptions options;
  std::vector<std::vector<std::string>> items;
  for (const std::string& item : flags.files) items.push_back(files_of_item("--data", item));
  const std::vector<std::string> files = joined(items);
  if (files.empty() && tokenizer) items = {own_texts()};
  const auto token_file = std::find_if(files.begin(), files.end(), is_token_file);
  const auto text = std::find_if_not(files.begin(), files.end(), is_token_file);
  if (token_file == files.end() && !tokenizer) {
    require(flags.weights.empty(),
            "--data-weights {}: only token files (.bin) have weights, and text that --tokenizer encodes",
            flags.weights);
    require(flags.held_out.empty(),
            "--val-data {}: only beside token files (.bin) in --data, or text that --tokenizer encodes",
            flags.held_out.front());
    options.texts = files.empty() ? own_texts() : files;
    return options;
  }
  options.encodes = token_file == files.end();
  require(options.encodes || text == files.end(),
          "--data {} {}: text and token files (.bin) cannot be mixed in one run", *text, *token_file);
  for (const std::string& file : files) {
    require(!options.encodes || !file.ends_with(".jsonl"),
            "--data {}: is no text; shardline tokenize makes a token file (.bin) of its documents", file);
  }
  options.tokens = groups_of(flags, items);
  for (const std::string& item : flags.held_out) {
    for (const std::string& file : files_of_item("--val-data", item)) {
      require(is_token_file(file) != options.encodes, "--val-data {}: must be a {}, as --data is", file,
              options.encodes ? "text" : "token file (.bin)");
      options.held_out.push_back(file);
    }
  }
  return options;
}

std::vector<std::string> files_named(const std::string& option, const std::vector<std::string>& items) {
  std::vector<std::string> files;
  for (const std::string& item : items) {
    const std::vector<std::string> found = files_of_item(option, item);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

std::vector<std::string> encoded_files(const DataOptions& options) {
  std::vector<std::string> files;
  if (!options.encodes) return files;
  for (const TokenGroup& group : options.tokens) files.insert(files.end(), group.files.begin(), group.files.end());
  files.insert(files.end(), options.held_out.begin(), options.held_out.end());
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

void add_data_files(CommandFiles& files, const DataOptions& options) {
  for (const std::string& text : options.texts) files.inputs.push_back({"--data", "text", text});
  for (const TokenGroup& group : options.tokens) {
    for (const std::string& path : group.files) {
      files.inputs.push_back({"--data", options.encodes ? "text" : "tokens", path});
    }
  }
  for (const std::string& path : options.held_out) {
    files.inputs.push_back({"--val-data", options.encodes ? "text" : "tokens", path});
  }
}

Bytes text_memory(const mpi::Communicator& world, const DataOptions& options) {
  const std::string bytes = mpi::on_root(world, 0, [&] {
    return std::to_string(options.encodes ? bytes_of(encoded_files(options)) : 3 * bytes_of(options.texts));
  });
  return Bytes(std::stod(bytes));
}

}  // namespace shardline::tools
