#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/planning/phase_bound.h"
#include "program/run/measure.h"
#include "tools/generation/batch_times.h"
#include "tools/generation/text_run.h"
#include "tools/job.h"

namespace shardline::tools {

/// What one phase took, beside what it should take.
struct PhaseRecord {
  std::string name;            ///< "prefill", "decode"
  Index tokens = 0;            ///< of all prompts, or all that decode added
  std::vector<Seconds> times;  ///< of prefill the whole; of decode each step, to its logits
  Seconds whole;               ///< all of it; of decode with the choice of tokens
  Seconds predicted;           ///< of one of these times
  PhaseBound bound;            ///< of one of these times, for the places that were seen
  /// Operations: of prefill in all chunks (of many, the first and the last ones), of decode in the last steps.
  std::vector<KindSummary> kinds;
  int timed_runs = 0;  ///< of prefill 1
  double waiting = 0;  ///< the share of the timed runs in which the rank that did so longest waited or moved data
  std::vector<std::string> program;  ///< of prefill also that of later chunks

  double tokens_per_second() const;
};

/// How the caches went from prefill's own state to decode's.
struct ReshardRecord {
  PhaseRecord phase;  ///< without tokens and bound
  Bytes sent;         ///< by the rank that sends most
};

/// What `shardline generate` found. Equal on every rank but for the times of its steps.
struct GenerateRecord {
  PhaseRecord prefill;
  PhaseRecord decode;  ///< without times if no token was decoded
  std::optional<ReshardRecord> reshard = {};
  std::optional<BatchTimes> batches = {};  ///< of decode, if there is a page of them
  Seconds first_token;
  Seconds alone;         ///< predicted time of a step of decode on one rank with the figures of each of these
  bool one_node = true;  ///< all ranks share a node
  double seen = 0;       ///< the share of the places of the caches that a step saw, or is expected to see
  Index sequences = 0;
  Index context = 0;
  Bytes cache_bytes;  ///< on rank 0
};

/// Collective over all ranks: joins the times of the generator's programs.
GenerateRecord record_of(Job& job, Generator& generator, const TransformerConfig& config, const TextRun& run,
                         const std::vector<std::vector<std::int32_t>>& prompts);

/// The share of the places that a query of decode sees on average, for texts of which the prompts have `prompt_tokens`
/// together and to each of which `added` tokens are added.
double expected_share(Index sequences, Index prompt_tokens, Index added, Index context);

/// A line of times for each phase, with what they mean, and why several ranks may be slower than one.
std::string result_text(const Job& job, const GenerateRecord& record);

/// The keys of the record but for the texts.
void add_keys(Json& json, const GenerateRecord& record);

}  // namespace shardline::tools
