#pragma once

#include <string>
#include <vector>

#include "models/data/file_group.h"
#include "models/tokens/text_encoder.h"
#include "runtime/base/units.h"
#include "runtime/mpi/communicator.h"
#include "tools/options/common_options.h"
#include "tools/output/output_files.h"

namespace shardline::tools {

/// What the command line says of the data of a run.
struct DataFlags {
  std::vector<std::string> files;
  std::string weights;
  std::vector<std::string> held_out;
  std::string tokenizer;
  bool masks_prompts = false;
  bool packs = false;
};

/// The same, checked: text that is read as bytes, tokens, or lines of prompt and answer. A model that reads no text has
/// none of them.
struct DataOptions {
  std::vector<std::string> texts;
  std::vector<FileGroup> tokens;
  std::vector<FileGroup> lines;       ///< files that end with .jsonl
  std::vector<std::string> held_out;  ///< of the same kind as `tokens` or `lines`
  /// `tokens` and `held_out` are texts, which a tokenizer encodes at the start. Otherwise they are token files (.bin).
  bool encodes = false;
  bool masks_prompts = false;  ///< in `lines`

  /// True if the run reads text and takes bytes for tokens. `tokenizer`: it has one.
  bool reads_bytes(bool tokenizer) const { return !texts.empty() || (!lines.empty() && !tokenizer); }
};

/// Adds the options. `flags` must outlive the parsing.
void add_data_options(CLI::App& command, DataFlags& flags);

/// Collective over all ranks; rank 0 looks for the files that match patterns. Without --data: the project's own sources
/// and documentation. `tokenizer`: there is one, so text is not read as bytes. Throws UsageError.
DataOptions data_options(const DataFlags& flags, bool tokenizer);

/// The texts that a tokenizer encodes, each once.
std::vector<std::string> encoded_files(const DataOptions& options);

/// The files, as inputs of the command.
void add_data_files(CommandFiles& files, const DataOptions& options);

/// Collective over `world`; rank 0 looks. The most memory that the text of these files needs on a rank. Of text that is
/// read as bytes one copy stays, and reading needs two more. For text that `tokenizer` encodes see encoding_memory().
/// Of lines stays a token of four bytes for each byte at most, with the places of the lines, and reading needs four
/// copies of the largest file. Token files are mapped and take none that the system could not take back.
Bytes text_memory(const mpi::Communicator& world, const DataOptions& options, const TextEncoder* tokenizer);

}  // namespace shardline::tools
