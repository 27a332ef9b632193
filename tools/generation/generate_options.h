#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/generation/token_choice.h"
#include "tools/options/common_options.h"

namespace shardline::tools {

/// What people type after `shardline generate`.
struct GenerateFlags {
  CommonOptions common;
  std::string strategy = "auto";
  std::string prefill_strategy;  ///< empty: as `strategy`
  std::string prefill_state = "shared";
  std::string load;
  std::string tokenizer;
  std::optional<std::string> prompt;
  std::string prompts;  ///< file
  Index tokens = 400;
  std::optional<Index> context;
  std::optional<Index> chunk;
  std::string cache_dtype;  ///< empty: that of `common`
  ChoiceOptions choice{.temperature = 0.7};
  std::vector<std::string> stops;
  bool ignore_end = false;
  ScheduleFlags schedule;
  std::string trace;
  std::string report;
};

/// Adds the options. `flags` must outlive the parsing.
void add_generate_options(CLI::App& command, GenerateFlags& flags);

/// The type of --cache-dtype, if it is given. Throws UsageError if there is no such type, or if it is wider than
/// --dtype.
std::optional<DType> cache_dtype_of(const GenerateFlags& flags);

/// The files that the command reads and writes.
CommandFiles files_of(const GenerateFlags& flags);

}  // namespace shardline::tools
