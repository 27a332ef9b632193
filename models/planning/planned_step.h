#pragma once

#include <memory>
#include <vector>

#include "models/architecture/config.h"
#include "models/architecture/transformer.h"
#include "models/strategy/strategies.h"
#include "program/ir/rank_program.h"
#include "program/plan/compiled.h"
#include "program/plan/timeline.h"
#include "program/price/price.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// A training step to plan for.
struct PlannedRun {
  TransformerConfig config;
  Index tokens = 0;    ///< of a batch
  Index sequence = 0;  ///< tokens that attend each other
  DType dtype = DType::bf16;
  DType optimizer = DType::f32;  ///< of the two moments
};

/// Bytes of arrays on the busiest rank.
struct RankMemory {
  Bytes weights = {};
  Bytes optimizer = {};
  Bytes others = {};  ///< most of activations, gradients and gathered copies at once
  Bytes update = {};  ///< the most of them while AdamW runs: gradients and new weights; not changed by recomputation

  Bytes total() const { return weights + optimizer + others; }
};

/// What a step takes on the busiest rank.
struct PlannedStep {
  AbstractMesh mesh = {};
  Strategy strategy = {};
  Seconds lower = {};      ///< the time of its busiest resource, with everything else hidden behind it
  Seconds upper = {};      ///< the time when nothing overlaps
  Seconds scheduled = {};  ///< by the timeline of its schedule
  Seconds exposed = {};    ///< of that, waiting for collectives
  Seconds math = {};
  Seconds comms = {};      ///< of the busiest link
  Seconds attention = {};  ///< of math, attention proper: by formula
  roofline::Limiter limiter = roofline::Limiter::latency;
  Flops flops = {};  ///< on a rank
  RankMemory memory = {};
};

/// All steps of one kind over the same axes, in a whole training step.
struct PlannedKind {
  std::string kind = {};  ///< "einsum", "all_gather"
  std::string axis = {};  ///< of a collective
  double count = 0;
  Bytes bytes = {};
  Bytes wire_bytes = {};
  Flops flops = {};
  Seconds time = {};
  roofline::Limiter limiter = roofline::Limiter::latency;  ///< of most of the time
};

/// When each step of a short program is at work.
struct PlannedTimeline {
  RankProgram program;
  ScheduledTime time;
};

/// Prices whole training steps (forward, backward, clipping and AdamW) on meshes of any size. The communication is that
/// of the derived programs, in which every token of the batch is a sequence of its own. Attention has nothing to attend
/// to in such a program. It is priced by its operations over sequences of `PlannedRun::sequence` tokens, each of them
/// whole on the ranks that hold its tokens. A sequence that lies on several ranks would also gather keys and values;
/// that is not counted. All layers are alike, so of more than three layers the third one stands for all that follow.
class StepPlanner {
 public:
  explicit StepPlanner(const PlannedRun& run);

  /// Throws UsageError for roles that split sequences, which are not there, and as declare(), and Error
  /// when an axis has no link in `hardware`.
  PlannedStep price(const AbstractMesh& mesh, const Strategy& strategy, const roofline::Hardware& hardware) const;

  /// The kinds of steps that make up the step, the longest first.
  std::vector<PlannedKind> kinds(const AbstractMesh& mesh, const Strategy& strategy,
                                 const roofline::Hardware& hardware) const;

  /// The program of a rank with at most two layers and when its steps are at work.
  PlannedTimeline timeline(const AbstractMesh& mesh, const Strategy& strategy,
                           const roofline::Hardware& hardware) const;

  const PlannedRun& run() const { return run_; }

 private:
  /// A training step of so many layers.
  Program program_of(Index layers) const;
  /// A model partitioned, priced and scheduled.
  struct Priced {
    std::shared_ptr<const Compiled> compiled;
    ProgramPrice price = {};
    Seconds attention = {};
  };
  Priced price(const Program& step, const AbstractMesh& mesh, const Strategy& strategy,
               const roofline::Hardware& hardware) const;
  /// Gives the attention of a program over sequences of one token the price of whole sequences. Returns its sum.
  Seconds price_attention(const RankProgram& program, std::vector<StepEstimate>& estimates,
                          const roofline::Hardware& hardware) const;

  PlannedRun run_;
  std::vector<Program> steps_;  ///< of all layers, or of two and of three
};

}  // namespace shardline
