#pragma once

#include <map>
#include <vector>

#include "program/plan/compiled.h"
#include "program/plan/sweeps.h"
#include "program/run/prepared_step.h"
#include "runtime/trace/clock.h"

namespace shardline {

/// A sweep on one rank: runs its steps strip by strip. Of each array that is cut, a kernel gets the part of the strip,
/// and the index ranges of that part.
class SweepRun {
 public:
  /// `action`: a sweep of the schedule. `prepared`: the steps of the program on `rank`; must outlive this and not move.
  SweepRun(const Compiled& compiled, const Action& action, Index rank, const std::vector<PreparedStep>& prepared);

  struct Times {
    std::vector<Seconds> steps;  ///< what each step took in all strips
    Seconds polling;
  };
  /// The results must have memory: that of the largest strip, if the version passes, else the whole. Polls before each
  /// strip if `polls`.
  Times run(bool polls) const;

 private:
  /// An array of a step.
  struct Part {
    const Tensor* operand = nullptr;  ///< one of the two
    Tensor* result = nullptr;
    bool cut = false;
    bool passes = false;
    Shape shape{};           ///< of the rank's block
    Index position_bytes{};  ///< of one position of the strip dims
  };
  struct SweptStep {
    const Operation* operation = nullptr;
    std::size_t phase = 0;
    std::vector<Range> ranges;
    std::vector<int> indices;  ///< of the operation, by strip dim
    std::vector<Part> operands;
    std::vector<Part> results;
  };

  Part part_of(const Compiled& compiled, VersionId v, Index rank) const;
  Tensor strip_of(const Part& part, const std::vector<Range>& box, Index first) const;
  void run_strip(const SweptStep& step, const std::vector<Range>& box, Index number) const;

  const Program& program_;
  Strips strips_;
  std::vector<SweptStep> steps_;
};

/// The sweeps of a program, by action. See SweepRun.
std::map<int, SweepRun> prepare_sweeps(const Compiled& compiled, Index rank, const std::vector<PreparedStep>& prepared);

}  // namespace shardline
