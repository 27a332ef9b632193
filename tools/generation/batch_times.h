#pragma once

#include <string>
#include <vector>

#include "models/generation/decode_trial.h"
#include "models/planning/phase_bound.h"
#include "tools/job.h"

namespace shardline::tools {

/// Steps of decode of a number of sequences, measured beside what they should take.
struct BatchTime {
  Index sequences = 0;
  std::vector<Seconds> times;  ///< of this rank
  Seconds predicted;
  PhaseBound bound;
};

/// Steps of several numbers of sequences, in rising order, and the numbers that were not measured.
struct BatchTimes {
  struct LeftOut {
    Index sequences = 0;
    std::string reason;
  };
  std::vector<BatchTime> measured;
  std::vector<LeftOut> left_out;
};

/// Measures decode of 1, 2, 4, ... 32 sequences on the ranks and parameters of a run, for its page.
class BatchTrials {
 public:
  /// Collective over all ranks. Derives the programs, but for the number of sequences of `plan`, and leaves out what
  /// does not fit memory beside `need`, that of the run. Call it before memory is taken.
  BatchTrials(const Job& job, const TransformerConfig& config, const GenerationPlan& plan, const MemoryNeed& need);

  /// Bytes that the engine's arena needs on a rank for the trials, beside those of the plan.
  Bytes shared() const { return shared_; }

  /// Collective over all ranks: measures the steps, with caches of which `seen` is seen, and adds `own`, the steps of
  /// the run. Once measuring has taken `limit` it stops, and the larger numbers are left out.
  BatchTimes measure(Job& job, Generator& generator, BatchTime own, double seen, Seconds limit);

 private:
  std::vector<GenerationPhase> phases_;
  std::vector<BatchTimes::LeftOut> left_out_;
  Bytes shared_;
};

/// The measured ones as `decode.batches` of the record, the others as `decode.batches_left_out`.
Json measured_json(const BatchTimes& batches);
Json left_out_json(const BatchTimes& batches);

}  // namespace shardline::tools
