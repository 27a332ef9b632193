#include "collectives/run/send_budget.h"

#include <algorithm>

namespace shardline::collectives {

void SendBudget::completed(Index bytes) {
  under_way_ -= bytes;
  completed_ += bytes;
}

void SendBudget::polled(Seconds now) {
  constexpr Seconds kBetweenPolls{20e-3};  // from one to the next, while a rank computes a product in panels
  constexpr double kGrowth = 1.5;          // sockets take a burst at once, which says little about the link
  const Seconds elapsed = now - since_;
  if (completed_ == 0 && under_way_ == 0) since_ = now;  // nothing to learn from
  if (completed_ == 0 || elapsed < kBetweenPolls) return;
  const double least = static_cast<double>(kLeast) / kBetweenPolls.value;
  const double known = std::max(rate_, least);
  const double seen = std::min(static_cast<double>(completed_) / elapsed.value, kGrowth * known);
  // With bytes still under way the link was busy all the time; otherwise it may be faster than this.
  rate_ = under_way_ > 0 ? (known + seen) / 2 : std::max(known, seen);
  limit_ = std::clamp(static_cast<Index>(rate_ * kBetweenPolls.value), kLeast, kMost);
  completed_ = 0;
  since_ = now;
}

}  // namespace shardline::collectives
