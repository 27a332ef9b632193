#pragma once

#include <map>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/plan/schedule.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// Which collectives of a program may be in flight while the ranks compute. Pure. The arguments must outlive it.
class FlightRules {
 public:
  FlightRules(const RankProgram& program, const roofline::Hardware& hardware, const ScheduleOptions& options);

  /// The links of this step leave the cores free, and the options allow it.
  bool overlaps(int step) const;
  /// A gather of a parameter that is an input of the program, or cast from one, over links that move it beside other
  /// work; or a receive from another stage.
  bool starts_early(int step) const;
  /// A reduction of a parameter's gradient. Nothing reads it before the update.
  bool ends_late(int step) const;
  /// The step that makes a version, or -1.
  int producer(VersionId version) const;
  /// The steps that read a version.
  const std::vector<int>& readers(VersionId version) const;

 private:
  /// An input, or cast from a master that is one.
  bool is_ready_early(VersionId version) const;
  const Step& step_of(int number) const { return program_.steps[static_cast<std::size_t>(number)]; }

  const RankProgram& program_;
  const roofline::Hardware& hardware_;
  const ScheduleOptions& options_;
  std::map<VersionId, int> producer_;
  std::map<VersionId, std::vector<int>> readers_;
};

/// True if the links of all these axes leave the cores free while data moves.
bool frees_cores(const Axes& axes, const roofline::Hardware& hardware);

}  // namespace shardline
