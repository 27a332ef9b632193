#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/plan/arena_plan.h"
#include "program/plan/liveness.h"
#include "program/plan/schedule.h"
#include "program/plan/timeline.h"
#include "program/price/estimate.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// Options of compile().
struct CompileOptions {
  /// How `prices` schedule the program. None: every step begins and ends at its place, and `prices`
  /// are not used.
  std::optional<ScheduleOptions> scheduling = {};
  /// The fusions of the program from which this one was made. None: chosen for this program.
  std::optional<Fusions> fusions = {};
  roofline::Hardware prices = {};  ///< used for decisions. They must be equal on all ranks and in every run.
  /// Prices for the expected time of the steps. None: nothing is predicted.
  std::optional<roofline::Hardware> predictions = {};
};

/// A rank program with everything for running, pricing and explaining it. Each part is made once,
/// at its first use, so only one thread may use it at a time. Pure data, no MPI. Its parts refer to
/// each other, so it does not move. An Executor copies the predictions when it is made; later ones
/// do not reach its trace.
class Compiled {
 public:
  Compiled(RankProgram program, CompileOptions options);
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  const RankProgram& program() const { return program_; }
  const CompileOptions& options() const { return options_; }
  /// The order of the steps; collectives in flight; fused steps.
  const ProgramSchedule& schedule() const;
  /// When buffers are freed.
  const Liveness& liveness() const;
  /// The places of arrays in shared memory.
  const ArenaPlan& arena() const;

  /// Sets the predictions later, for example after a measurement. Throws Error if there are some
  /// already.
  void predict_by(roofline::Hardware predictions);
  bool predicts() const { return options_.predictions.has_value(); }
  /// Throws Error if there are none.
  const roofline::Hardware& predictions() const;
  /// One per step, from the predictions. Throws Error if there are none.
  const std::vector<StepEstimate>& estimates() const;
  /// The predicted time of one run. Throws Error if there are no predictions.
  const ScheduledTime& time() const;

 private:
  RankProgram program_;
  CompileOptions options_;
  mutable std::optional<ProgramSchedule> schedule_;
  mutable std::optional<Liveness> liveness_;
  mutable std::optional<ArenaPlan> arena_;
  mutable std::optional<std::vector<StepEstimate>> estimates_;
  mutable std::optional<ScheduledTime> time_;
};

/// A hash over the program and its schedule. It shows whether two ranks derived different ones.
std::uint64_t hash_of(const Compiled& compiled);

/// The step from planning to running. Code that chooses or rewrites rank programs runs before it. A
/// program that will run has passed check(), or its micro-batch has; one only priced need not.
std::shared_ptr<Compiled> compile(RankProgram program, CompileOptions options);

}  // namespace shardline
