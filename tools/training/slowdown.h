#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"
#include "tools/job.h"

namespace shardline::tools {

/// The time of a step, or the mean time of several.
struct WatchedTimes {
  Seconds all;   ///< of the slowest rank, with the reading of samples; equal on all ranks
  Seconds work;  ///< of this rank, without waiting for others
  Seconds data;  ///< of this rank, for reading samples
};

/// Steps that take longer than those before. Times are medians.
struct Slowdown {
  Index since = 0;      ///< the first slow step: the number of steps before it that the watch has seen
  WatchedTimes before;  ///< of the first steps of the time before
  WatchedTimes now;     ///< of the last steps
};

/// Finds out when the steps of a run become slower. Steps that take less than kBlockTime are joined to blocks of about
/// that time. The watch compares medians, so that single slow steps do not count: of the first kUsual blocks of a
/// level, and of the last kLast blocks. Afterwards a new level begins with the first slow step. A run that becomes
/// faster begins a new level without a word. Needs a bounded memory, and a time that does not grow with the run.
class SlowdownWatch {
 public:
  static constexpr std::size_t kUsual = 20;
  static constexpr std::size_t kLast = 8;
  static constexpr Seconds kBlockTime{0.375};
  static constexpr double kSlower = 1.25;  ///< the ratio of the medians from which it counts

  /// The next step. All ranks get a result after the same step, since they see the same WatchedTimes::all.
  std::optional<Slowdown> add(const WatchedTimes& step);

  /// The number of steps so far.
  Index steps() const { return steps_; }

 private:
  struct Block {
    Index first = 0;  ///< step
    Index steps = 0;
    WatchedTimes mean;
  };
  void keep(const Block& block);
  std::optional<Slowdown> compare();

  Index steps_ = 0;
  Block open_;                          ///< the sums of a block that is not full
  std::vector<WatchedTimes> usual_;     ///< the first blocks of the level
  std::optional<WatchedTimes> before_;  ///< their medians, if there are enough
  std::deque<Block> recent_;            ///< the blocks after them; the oldest go
};

/// A slowdown on one rank.
struct RankSlowdown {
  std::string host;
  WatchedTimes before;
  WatchedTimes now;
};

/// Collective over all ranks: the slowdown on each of them.
std::vector<RankSlowdown> slowdown_of_ranks(const Job& job, const Slowdown& own);

/// A sentence: since when steps are slower, and on which ranks the time goes. A rank is named if its own work, or its
/// reading of samples, grew by at least a third of what the step grew: delays that come now here, now there, show in
/// part as waiting. `step` is the number of the first slow step and counts from 1. `ranks` are all ranks in their
/// order; there is at least one.
std::string slowdown_text(Index step, const std::vector<RankSlowdown>& ranks);

}  // namespace shardline::tools
