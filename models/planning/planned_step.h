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

/// The training step of a plan.
struct PlannedRun {
  TransformerConfig config;
  Index tokens = 0;    ///< of a batch
  Index sequence = 0;  ///< tokens that attend to each other
  DType dtype = DType::bf16;
  DType optimizer = DType::f32;  ///< of the two moments
};

/// Bytes of arrays on the busiest rank.
struct RankMemory {
  Bytes weights = {};
  Bytes optimizer = {};
  Bytes others = {};  ///< the largest sum of activations, gradients and gathered copies at one time
  Bytes update = {};  ///< the largest sum while AdamW runs: gradients and new weights; recomputation does not change it

  Bytes total() const { return weights + optimizer + others; }
};

/// The time and memory of a step on the busiest rank.
struct PlannedStep {
  AbstractMesh mesh = {};
  Strategy strategy = {};
  Seconds lower = {};      ///< the time of the busiest resource; everything else overlaps with it
  Seconds upper = {};      ///< the time without overlap
  Seconds scheduled = {};  ///< by the timeline of its schedule
  Seconds exposed = {};    ///< the part of `scheduled` that waits for collectives
  Seconds math = {};
  Seconds comms = {};      ///< of the busiest link
  Seconds attention = {};  ///< the part of `math` for attention itself, by formula
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

/// The work times of each step of a short program.
struct PlannedTimeline {
  RankProgram program;
  ScheduledTime time;
};

/// Prices whole training steps (forward, backward, clipping and AdamW) on meshes of any size. The communication
/// is that of the derived programs. In these, every token of the batch is a sequence of its own, so attention
/// has no other token. Its price comes from its operations over sequences of `PlannedRun::sequence` tokens,
/// each whole on the ranks that hold its tokens. If a sequence were on several ranks, these would also gather
/// keys and values; that is not counted. All layers are the same, so the third layer stands for all later ones.
class StepPlanner {
 public:
  explicit StepPlanner(const PlannedRun& run);

  /// Throws UsageError as declare(), and for roles that split sequences, which do not exist yet. Throws Error
  /// if an axis has no link in `hardware`.
  PlannedStep price(const AbstractMesh& mesh, const Strategy& strategy, const roofline::Hardware& hardware) const;

  /// The kinds of steps in the training step, the longest first.
  std::vector<PlannedKind> kinds(const AbstractMesh& mesh, const Strategy& strategy,
                                 const roofline::Hardware& hardware) const;

  /// The program of a rank with at most two layers, and the work times of its steps.
  PlannedTimeline timeline(const AbstractMesh& mesh, const Strategy& strategy,
                           const roofline::Hardware& hardware) const;

  const PlannedRun& run() const { return run_; }

 private:
  /// A training step of `layers` layers.
  Program program_of(Index layers) const;
  /// A model partitioned, priced and scheduled.
  struct Priced {
    std::shared_ptr<const Compiled> compiled;
    ProgramPrice price = {};
    Seconds attention = {};
  };
  Priced price(const Program& step, const AbstractMesh& mesh, const Strategy& strategy,
               const roofline::Hardware& hardware) const;
  /// Replaces the price of attention over sequences of one token by the price of whole sequences. Returns the
  /// sum.
  Seconds price_attention(const RankProgram& program, std::vector<StepEstimate>& estimates,
                          const roofline::Hardware& hardware) const;

  PlannedRun run_;
  std::vector<Program> steps_;  ///< of all layers, or of two and of three
};

}  // namespace shardline
