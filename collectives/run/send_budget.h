#pragma once

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline::collectives {

/// How many bytes the runs in flight over one set of axes may have handed to MPI together. Messages that MPI has share
/// the link, so what is handed over early takes from what is needed first. The oldest run may always send; younger ones
/// only while fewer bytes are under way than the link carries between two polls. The rate of the link follows from the
/// sends that end. It decides when bytes move, never what is computed.
class SendBudget {
 public:
  /// True if another send may be handed over by a run that is not the oldest.
  bool allows() const { return under_way_ < limit_; }
  Index limit() const { return limit_; }

  void posted(Index bytes) { under_way_ += bytes; }
  void completed(Index bytes);
  /// Call it once for each poll, after its sends have ended.
  void polled(Seconds now);

 private:
  static constexpr Index kLeast = Index{1} << 20;
  static constexpr Index kMost = Index{64} << 20;

  Index under_way_ = 0;
  Index completed_ = 0;  ///< since `since_`
  Seconds since_;        ///< the poll from which bytes are counted
  double rate_ = 0;      ///< bytes/s of the link, as far as it is known
  Index limit_ = kLeast;
};

}  // namespace shardline::collectives
