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
  ChoiceOptions choice{.temperature = 0.7};
  std::vector<std::string> stops;
  bool ignore_end = false;
  std::string trace;
  std::string report;
};

/// Adds the options. `flags` must outlive the parsing.
void add_generate_options(CLI::App& command, GenerateFlags& flags);

/// The files that the command reads and writes.
CommandFiles files_of(const GenerateFlags& flags);

}  // namespace shardline::tools
