#include "collectives/run/send_budget.h"

#include <algorithm>

namespace shardline::collectives {

void SendBudget::completed(Index bytes) {
  under_way_ -= bytes;
  completed_ += bytes;
}

void SendBudget::polled(Seconds now) {
  constexpr Seconds kShort{2e-3};      // polls of a waiting rank follow each other faster than sends end
  constexpr Seconds kTwoPolls{20e-3};  // a product polls every ten milliseconds
  const Seconds elapsed = now - since_;
  if (completed_ == 0 && under_way_ == 0) since_ = now;  // nothing to learn from
  if (completed_ == 0 || elapsed < kShort) return;
  const double seen = static_cast<double>(completed_) / elapsed.value;
  // With bytes still under way the link was busy all the time; otherwise it may be faster than this.
  rate_ = under_way_ > 0 && rate_ > 0 ? (3 * rate_ + seen) / 4 : std::max(rate_, seen);
  limit_ = std::clamp(static_cast<Index>(rate_ * kTwoPolls.value), kLeast, kMost);
  completed_ = 0;
  since_ = now;
}

}  // namespace shardline::collectives
