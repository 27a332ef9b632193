#pragma once

#include <functional>
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

/// What a rank program is compiled with.
struct CompileOptions {
  /// How the program is scheduled by `prices`. None: every step begins and ends at its place, and `prices` do not
  /// matter.
  std::optional<ScheduleOptions> scheduling = {};
  roofline::Hardware prices = {};  ///< that decide. They must be equal on all ranks and from one run to the next.
  /// What the steps are expected to take. None: nothing is predicted.
  std::optional<roofline::Hardware> predictions = {};
};

/// A rank program with all that running, pricing and explaining it needs. Each part is made when it is first asked for,
/// and once, so one thread at a time may ask. Pure data: it knows no MPI. Its parts refer to each other, so it stays
/// where it was made. An Executor notes the predictions when it is made; later ones do not reach its trace.
class Compiled {
 public:
  Compiled(RankProgram program, CompileOptions options);
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  const RankProgram& program() const { return program_; }
  /// The order of the steps, with what is in flight and what is fused.
  const ProgramSchedule& schedule() const;
  /// When buffers may go.
  const Liveness& liveness() const;
  /// Where arrays lie in shared memory.
  const ArenaPlan& arena() const;

  /// Gives the predictions later, as after a measurement. Throws Error when the program has some.
  void predict_by(roofline::Hardware predictions);
  bool predicts() const { return options_.predictions.has_value(); }
  /// Throws Error when there are none.
  const roofline::Hardware& predictions() const;
  /// Of every step, by the predictions. Throws Error when there are none.
  const std::vector<StepEstimate>& estimates() const;
  /// Changes estimates, where the program stands for another one. Throws Error when time() was asked for before.
  void amend_estimates(const std::function<void(std::vector<StepEstimate>&)>& amend);
  /// Of one run, by the predictions. Throws Error when there are none.
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

/// The seam between planning and running. `program` must have passed check(). What chooses among rank programs, or
/// rewrites one, comes before.
std::shared_ptr<Compiled> compile(RankProgram program, CompileOptions options);

}  // namespace shardline
