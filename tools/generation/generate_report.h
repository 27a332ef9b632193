#pragma once

#include <string>
#include <vector>

#include "models/planning/phase_bound.h"
#include "program/run/measure.h"
#include "tools/generation/text_run.h"
#include "tools/job.h"

namespace shardline::tools {

/// What one phase took, beside what it should take.
struct PhaseRecord {
  std::string name;                ///< "prefill", "decode"
  Index tokens = 0;                ///< of all prompts, or all that decode added
  std::vector<Seconds> times;      ///< of prefill the whole; of decode each step
  Seconds predicted;               ///< of one of these times
  PhaseBound bound;                ///< of one of these times
  double runs = 1;                 ///< runs of a program in one of these times
  std::vector<KindSummary> kinds;  ///< operations, over all timed runs
  int timed_runs = 0;
  std::vector<std::string> program;

  Seconds total() const;
  double tokens_per_second() const;
};

/// What `shardline generate` found. Equal on every rank but for the times of its steps.
struct GenerateRecord {
  PhaseRecord prefill;
  PhaseRecord decode;  ///< without times if no token was decoded
  Seconds first_token;
  Seconds alone;  ///< predicted time of a step of decode on one rank with the same figures
  Index sequences = 0;
  Index context = 0;
  Bytes cache_bytes;  ///< on rank 0
};

/// Collective over all ranks: joins the times of the generator's programs. The prompts have `prompt_tokens` in all.
GenerateRecord record_of(Job& job, Generator& generator, const TransformerConfig& config, const TextRun& run,
                         Index prompt_tokens);

/// The share of the places that a query of decode sees on average, for texts of which the prompts have `prompt_tokens`
/// together and to each of which `added` tokens are added.
double expected_share(Index sequences, Index prompt_tokens, Index added, Index context);

/// Two lines of times, with what they mean, and why several ranks may be slower than one.
std::string result_text(const Job& job, const GenerateRecord& record);

/// The keys of the record but for the texts.
void add_keys(Json& json, const GenerateRecord& record);

}  // namespace shardline::tools
