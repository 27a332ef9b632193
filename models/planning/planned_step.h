#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "models/architecture/config.h"
#include "models/architecture/transformer.h"
#include "models/planning/planned_work.h"
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
  Index sequence = 0;  ///< tokens that attend to each other; divides `tokens`
  DType dtype = DType::bf16;
  DType optimizer = DType::f32;  ///< of the two moments
  double capacity = 0;           ///< of experts, see BatchShape

  Index sequences() const { return tokens / sequence; }
};

/// Bytes of arrays on the busiest rank.
struct RankMemory {
  Bytes weights = {};
  Bytes optimizer = {};
  Bytes others = {};  ///< the largest sum of activations, gradients and gathered copies at one time
  Bytes update = {};  ///< the largest sum while AdamW runs: gradients and new weights; recomputation does not change it

  Bytes total() const { return weights + optimizer + others; }
};

/// How a step is computed.
struct PlannedForm {
  Index micro_batches = 1;
  Remat remat = Remat::none;
  std::string timetable = {};  ///< of the stages; empty: there are none
};

/// The time and memory of a step on the busiest rank. With stages: of the stage that is busiest, or needs most memory.
struct PlannedStep {
  AbstractMesh mesh = {};
  Strategy strategy = {};
  PlannedForm form = {};
  Seconds lower = {};      ///< the time of the busiest resource; everything else overlaps with it
  Seconds upper = {};      ///< the time without overlap
  Seconds scheduled = {};  ///< by the timeline of its schedule; with stages, by their simulated timetable
  Seconds exposed = {};    ///< the part of `scheduled` that waits for collectives
  Seconds math = {};
  Seconds comms = {};      ///< of the busiest link
  Seconds idle = {};       ///< of an average stage, waiting for the others
  Seconds attention = {};  ///< the part of `math` for attention itself, by formula
  Seconds context = {};    ///< one after the other: collectives of keys and values, or heads, of split sequences
  roofline::Limiter limiter = roofline::Limiter::latency;
  Flops flops = {};     ///< on a rank; with stages, on an average one
  Flops repeated = {};  ///< of these, by rematerialisation: no work of the model
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
/// is that of the derived programs. A rank without a whole sequence has its share of the attention of whole sequences:
/// its tokens lie so that every rank has the same share of pairs of a query and an earlier key (zigzag). All layers are
/// the same, so the third layer stands for all later ones. With stages or several micro-batches the program of one
/// micro-batch is priced; its tasks are simulated in the order of a timetable, and the layers are spread so that the
/// step is shortest.
class StepPlanner {
 public:
  /// Throws UsageError if the length of a sequence does not divide the tokens of the batch, and for a model with parts
  /// that no program has.
  explicit StepPlanner(const PlannedRun& run);

  /// Throws UsageError as declare(), stage_axis() and make_timetable(), and if the micro-batches do not divide the
  /// sequences. Throws Error if an axis has no link in `hardware`. With stages, without a
  /// timetable in `form`: the fastest.
  PlannedStep price(const AbstractMesh& mesh, const Strategy& strategy, const roofline::Hardware& hardware,
                    const PlannedForm& form = {}) const;

  /// The same step under each of these timetables, if the strategy makes stages; else one step.
  std::vector<PlannedStep> price_each(const AbstractMesh& mesh, const Strategy& strategy,
                                      const roofline::Hardware& hardware, const PlannedForm& form,
                                      const std::vector<std::string>& timetables) const;

  /// The kinds of steps in the training step, the longest first.
  /// With stages: those of all stages together, shared by the stages.
  std::vector<PlannedKind> kinds(const AbstractMesh& mesh, const Strategy& strategy, const roofline::Hardware& hardware,
                                 const PlannedForm& form = {}) const;

  /// The program of a rank with at most two layers, and the work times of its steps. Of several micro-batches: the
  /// program of one.
  PlannedTimeline timeline(const AbstractMesh& mesh, const Strategy& strategy, const roofline::Hardware& hardware,
                           const PlannedForm& form = {}) const;

  const PlannedRun& run() const { return run_; }

 private:
  /// A training step of `layers` layers, made once; of several micro-batches, that of one.
  const Program& program_of(Index layers, const PlannedForm& form) const;
  /// A program partitioned, priced and scheduled.
  struct Priced {
    std::shared_ptr<const Compiled> compiled;
    Axes context = {};  ///< those whose roles share sequences
    PricedSteps steps(const roofline::Hardware& hardware) const;
  };
  /// The step of so many layers on the mesh of a stage.
  Priced price_program(Index layers, const AbstractMesh& mesh, const Strategy& strategy,
                       const roofline::Hardware& hardware, const PlannedForm& form) const;
  PlannedStep price_whole(const AbstractMesh& mesh, const Strategy& strategy, const roofline::Hardware& hardware,
                          const PlannedForm& form) const;

  PlannedRun run_;
  mutable std::map<std::tuple<Index, Index, Remat>, Program> programs_;  ///< by layers and form
};

}  // namespace shardline
