#pragma once

#include <string>
#include <vector>

#include "models/data/file_group.h"
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
  bool masks_prompts = false;
};

/// The same, checked: text, token files or files of lines. A model that reads no text has none of them.
struct DataOptions {
  std::vector<std::string> texts;
  std::vector<FileGroup> tokens;      ///< files that end with .bin
  std::vector<FileGroup> lines;       ///< files that end with .jsonl
  std::vector<std::string> held_out;  ///< of the same kind as `tokens` or `lines`
  bool masks_prompts = false;         ///< in `lines`

  /// True if text becomes tokens in this run.
  bool reads_text() const { return !texts.empty() || !lines.empty(); }
};

/// Adds the options. `flags` must outlive the parsing.
void add_data_options(CLI::App& command, DataFlags& flags);

/// Collective over all ranks; rank 0 looks for the files that match patterns. Without --data: the project's own sources
/// and documentation. Throws UsageError.
DataOptions data_options(const DataFlags& flags);

/// The files, as inputs of the command.
void add_data_files(CommandFiles& files, const DataOptions& options);

/// Collective over `world`; rank 0 looks. The memory of the text of these files on a rank. Of text one copy stays, and
/// reading needs two more. Of lines stays a token for each byte at most, and reading needs four copies. Token files are
/// mapped and take none that the system could not take back.
Bytes text_memory(const mpi::Communicator& world, const DataOptions& options);

}  // namespace shardline::tools
