#pragma once

#include <functional>
#include <map>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/plan/schedule.h"
#include "program/price/reuse.h"
#include "runtime/base/units.h"

namespace shardline {

/// When a scheduled program frees its buffers: after the last action that touches a version. Inputs
/// and final versions are kept. A few results take over the storage of an operand that no later
/// step reads.
class Liveness {
 public:
  Liveness(const RankProgram& program, const ProgramSchedule& schedule);

  /// Versions whose buffers are free once action `number` is done.
  const std::vector<VersionId>& freed_after(int number) const { return freed_[static_cast<std::size_t>(number)]; }

  /// The operand whose storage result `result` of step `number` takes, or -1 for its own storage.
  /// It is used for the parameter and moments of adamw, and for the array of an all_reduce.
  VersionId storage_taken(int number, std::size_t result) const;

  /// True if only the steps of one sweep touch the version, and it shares its storage with no other version. Then it
  /// never exists whole: all strips use the memory of the largest one.
  bool passes(VersionId v) const { return passes_[static_cast<std::size_t>(v)]; }

  /// True if only a ring would see the version: it never exists.
  bool left_out(VersionId v) const { return left_out_[static_cast<std::size_t>(v)]; }

  /// The sweeps of the schedule, as prices need them.
  std::vector<StripSteps> strip_steps() const;

  /// Selects the versions to count; empty: all.
  using Counted = std::function<bool(VersionId)>;

  /// Most bytes of arrays that `rank` holds at once.
  Bytes peak(Index rank, const Counted& counted = {}) const;

  /// The same for the steps of each pass.
  std::map<Pass, Bytes> peaks(Index rank, const Counted& counted = {}) const;

  const ProgramSchedule& schedule() const { return schedule_; }

 private:
  bool replaceable(VersionId v, int number) const;
  void find_passing();
  void find_left_out();

  const RankProgram& program_;
  const ProgramSchedule& schedule_;
  std::vector<std::vector<int>> readers_;      ///< steps, by version
  std::vector<bool> kept_;                     ///< by version
  std::vector<bool> state_;                    ///< by version: an input that an update replaces
  std::vector<std::vector<VersionId>> freed_;  ///< by action
  std::vector<bool> passes_;                   ///< by version
  std::vector<bool> left_out_;                 ///< by version
};

}  // namespace shardline
