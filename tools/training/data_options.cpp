#include "tools/training/data_options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "models/data/byte_data.h"
#include "models/data/mixture.h"
#include "runtime/base/check.h"
#include "tools/options/named_files.h"
#include "tools/output/output.h"
#include "tools/tokens/encoded_texts.h"

namespace shardline::tools {
namespace {

/// The project's own sources and documentation, found by rank 0.
std::vector<std::string> own_texts() {
  return files_on_root([] {
    const Corpus text = default_corpus(SHARDLINE_SOURCE_DIR);
    if (text.skipped > 0) {
      note(
          fmt::format("{} files or folders under {} are skipped: links to folders or in circles, what cannot be "
                      "read, names with a newline",
                      text.skipped, SHARDLINE_SOURCE_DIR));
    }
    return text.files;
  });
}

std::vector<std::string> joined(const std::vector<std::vector<std::string>>& items) {
  std::vector<std::string> files;
  for (const auto& item : items) files.insert(files.end(), item.begin(), item.end());
  return files;
}

/// What a file holds, by the end of its name.
enum class FileKind : std::uint8_t { text, tokens, lines };

FileKind kind_of(const std::string& path) {
  const std::filesystem::path ending = std::filesystem::path(path).extension();
  return ending == ".bin" ? FileKind::tokens : ending == ".jsonl" ? FileKind::lines : FileKind::text;
}

constexpr std::string_view name_of_kind(FileKind kind) {
  return kind == FileKind::tokens  ? "a token file (.bin)"
         : kind == FileKind::lines ? "a file of prompts and answers (.jsonl)"
                                   : "text";
}

/// The kind of all files; text if there are none. Throws UsageError if they are of several kinds.
FileKind kind_of_all(const std::vector<std::string>& files) {
  if (files.empty()) return FileKind::text;
  const FileKind kind = kind_of(files.front());
  for (const std::string& file : files) {
    require(kind_of(file) == kind, "--data {} {}: {} and {} cannot be mixed in one run", files.front(), file,
            name_of_kind(kind), name_of_kind(kind_of(file)));
  }
  return kind;
}

/// The sizes of files, in bytes; those that cannot be seen have none.
std::vector<Index> sizes_of(const std::vector<std::string>& files) {
  std::vector<Index> sizes;
  for (const std::string& file : files) {
    std::error_code failure;
    const std::uintmax_t size = std::filesystem::file_size(file, failure);
    sizes.push_back(failure ? 0 : static_cast<Index>(size));
  }
  return sizes;
}

Index sum_of(const std::vector<Index>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), Index{0}); }

/// Bytes of memory for files of prompts and answers of these sizes. Of each byte stays at most a token of four bytes. A
/// line has at least 24 bytes beside its texts, and a place of 32; lists take a little more. To read a file takes four
/// copies of it.
Index memory_of(const std::vector<Index>& lines) {
  constexpr Index kStays = 6;
  constexpr Index kReading = 4;
  return kStays * sum_of(lines) + kReading * *std::max_element(lines.begin(), lines.end());
}

/// The groups of files: each item of --data with its weight, or all as one.
std::vector<FileGroup> groups_of(const DataFlags& flags, const std::vector<std::vector<std::string>>& items) {
  if (flags.weights.empty()) return {{joined(items)}};
  const std::vector<Index> weights = whole_weights(flags.weights, "--data-weights");
  require(weights.size() == items.size(),
          "--data-weights {}: {} weights for {} items of --data; a quoted pattern, as in 'a*.bin', is one item",
          flags.weights, weights.size(), items.size());
  std::vector<FileGroup> groups;
  for (std::size_t i = 0; i < items.size(); ++i) groups.push_back({items[i], weights[i]});
  return groups;
}

}  // namespace

void add_data_options(CLI::App& command, DataFlags& flags) {
  command
      .add_option(
          "--data", flags.files,
          "Text files, read as bytes or encoded by --tokenizer, token files of nanoGPT or llm.c (.bin), or "
          "files with a line of JSON for each prompt and its answer (.jsonl); a quoted pattern, as in 'a*.bin', "
          "names all files that match. Default this project's sources and documentation")
      ->check(not_empty());
  command
      .add_option("--tokenizer", flags.tokenizer,
                  "A tokenizer.json (byte-level BPE) that encodes the text of --data; saved models take it along. "
                  "Default: that in the folder of --load or --resume, if there is one")
      ->check(not_empty());
  command
      .add_option("--data-weights", flags.weights,
                  "Shares of the items of --data in the samples, as in 0.7,0.3; not of bytes. Default: all files are "
                  "one")
      ->check(not_empty());
  command
      .add_option("--val-data", flags.held_out,
                  "Files to take the held-out loss of, of the kind of --data; not of bytes. Default: the last tenth of "
                  "each file of --data")
      ->check(not_empty());
  command.add_flag("--mask-prompt", flags.masks_prompts,
                   "Only answers and what ends them count in the loss, not prompts; for .jsonl files in --data");
  command.add_flag("--pack", flags.packs,
                   "Several documents share a sequence, and tokens see only their own: lines of .jsonl files, or what "
                   "the end token of --tokenizer ends; not of bytes");
}

DataOptions data_options(const DataFlags& flags, bool tokenizer) {
  std::vector<std::vector<std::string>> items;
  for (const std::string& item : flags.files) items.push_back(files_named("--data", {item}));
  const std::vector<std::string> files = joined(items);
  const FileKind kind = kind_of_all(files);
  require(!flags.masks_prompts || kind == FileKind::lines,
          "--mask-prompt: only files of prompts and answers (.jsonl) in --data have prompts{}",
          files.empty() ? "" : fmt::format("; {} is {}", files.front(), name_of_kind(kind)));
  require(!flags.packs || kind == FileKind::lines || tokenizer,
          "--pack: {}; --tokenizer must name a tokenizer, whose end token ends documents",
          kind == FileKind::tokens
              ? fmt::format("{} is {}, which does not say where documents end", files.front(), name_of_kind(kind))
              : "text that is read as bytes has no documents");
  DataOptions options;
  if (kind == FileKind::text && !tokenizer) {
    constexpr const char* kOthers =
        "token files (.bin), files of prompts and answers (.jsonl) or text that --tokenizer encodes";
    require(flags.weights.empty(), "--data-weights {}: only for {} in --data", flags.weights, kOthers);
    require(flags.held_out.empty(), "--val-data {}: only beside {} in --data", flags.held_out.front(), kOthers);
    options.texts = files.empty() ? own_texts() : files;
    return options;
  }
  if (files.empty()) items = {own_texts()};
  options.encodes = kind == FileKind::text;
  options.masks_prompts = flags.masks_prompts;
  (kind == FileKind::lines ? options.lines : options.tokens) = groups_of(flags, items);
  for (const std::string& item : flags.held_out) {
    for (const std::string& file : files_named("--val-data", {item})) {
      require(kind_of(file) == kind, "--val-data {}: must be {}, as --data is", file, name_of_kind(kind));
      options.held_out.push_back(file);
    }
  }
  return options;
}

std::vector<std::string> encoded_files(const DataOptions& options) {
  std::vector<std::string> files;
  if (!options.encodes) return files;
  for (const FileGroup& group : options.tokens) files.insert(files.end(), group.files.begin(), group.files.end());
  files.insert(files.end(), options.held_out.begin(), options.held_out.end());
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

void add_data_files(CommandFiles& files, const DataOptions& options) {
  for (const std::string& text : options.texts) files.inputs.push_back({"--data", "text", text});
  const bool is_text = options.encodes;
  for (const FileGroup& group : options.tokens) {
    for (const std::string& path : group.files) files.inputs.push_back({"--data", is_text ? "text" : "tokens", path});
  }
  for (const FileGroup& group : options.lines) {
    for (const std::string& path : group.files) files.inputs.push_back({"--data", "lines", path});
  }
  const char* held_out = !options.lines.empty() ? "lines" : is_text ? "text" : "tokens";
  for (const std::string& path : options.held_out) files.inputs.push_back({"--val-data", held_out, path});
}

Bytes text_memory(const mpi::Communicator& world, const DataOptions& options, const TextEncoder* tokenizer) {
  const std::string bytes = mpi::on_root(world, 0, [&] {
    if (options.encodes) {
      return fmt::format("{}", encoding_memory(sizes_of(encoded_files(options)), world.size(), *tokenizer).value);
    }
    constexpr Index kOfText = 3;
    std::vector<Index> lines = sizes_of(options.held_out);
    for (const FileGroup& group : options.lines) {
      const std::vector<Index> sizes = sizes_of(group.files);
      lines.insert(lines.end(), sizes.begin(), sizes.end());
    }
    return std::to_string(kOfText * sum_of(sizes_of(options.texts)) + (options.lines.empty() ? 0 : memory_of(lines)));
  });
  return Bytes(std::stod(bytes));
}

}  // namespace shardline::tools
