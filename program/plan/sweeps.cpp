#include "program/plan/sweeps.h"

#include <algorithm>
#include <set>

namespace shardline {
namespace {

/// A sweep has more bytes than so many strips: 32 MiB with strips of 256 KiB. What is smaller stays in the outer caches
/// of most machines, where the calls for single strips cost more than they gain.
constexpr Index kLeastStrips = 128;

const std::vector<std::string>& dims_of(const RankProgram& program, VersionId v) { return program.array_of(v).dims; }

const Step& step_of(const RankProgram& program, int number) { return program.steps[static_cast<std::size_t>(number)]; }

std::vector<VersionId> arrays_of(const RankProgram& program, const std::vector<int>& steps) {
  std::set<VersionId> arrays;
  for (const int number : steps) {
    const Step& step = step_of(program, number);
    arrays.insert(step.operands.begin(), step.operands.end());
    arrays.insert(step.results.begin(), step.results.end());
  }
  return {arrays.begin(), arrays.end()};
}

/// The array whose first dims are the strip dims.
VersionId model_of(const RankProgram& program, const std::vector<int>& steps) {
  return step_of(program, steps[0]).results[0];
}

/// The length of the dims with which all arrays begin that have the first of them. They lie split by the same axes, and
/// no other array has them. 0: there are none.
std::size_t common_dims(const RankProgram& program, const std::vector<int>& steps) {
  const VersionId model = model_of(program, steps);
  const std::vector<std::string>& dims = dims_of(program, model);
  std::size_t length = dims.size();
  if (length == 0) return 0;
  const std::vector<VersionId> arrays = arrays_of(program, steps);
  for (const VersionId v : arrays) {
    const std::vector<std::string>& own = dims_of(program, v);
    if (own.empty() || own[0] != dims[0]) continue;
    std::size_t same = 0;
    const auto equal = [&](std::size_t d) {
      return own[d] == dims[d] && program.version(v).sharding.dims[d] == program.version(model).sharding.dims[d];
    };
    while (same < std::min(length, own.size()) && equal(same)) ++same;
    length = same;
  }
  for (const VersionId v : arrays) {
    const std::vector<std::string>& own = dims_of(program, v);
    if (!own.empty() && own[0] == dims[0]) continue;
    const auto other =
        std::find_first_of(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(length), own.begin(), own.end());
    length = static_cast<std::size_t>(other - dims.begin());
  }
  return length;
}

bool begins_with(const RankProgram& program, VersionId v, const std::string& dim) {
  const std::vector<std::string>& dims = dims_of(program, v);
  return !dims.empty() && dims[0] == dim;
}

class Joiner {
 public:
  Joiner(const RankProgram& program, Index strip_bytes) : program_(program), strip_bytes_(strip_bytes) {}

  std::vector<Action> join(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (!may_follow(action)) close();
      open_.push_back(action);
      if (!on_strips(action)) close();
    }
    close();
    return std::move(joined_);
  }

 private:
  const Step& step(int number) const { return step_of(program_, number); }

  bool on_strips(const Action& action) const {
    if (action.kind != ActionKind::run || step(action.steps[0]).kind != StepKind::compute) return false;
    return program_.phase_of(step(action.steps[0])).kernel->strips && common_dims(program_, action.steps) > 0;
  }

  std::vector<int> open_steps() const {
    std::vector<int> steps;
    for (const Action& action : open_) steps.push_back(action.steps[0]);
    return steps;
  }

  /// True if the action may be one sweep with the open ones.
  bool may_follow(const Action& action) const {
    if (open_.empty() || !on_strips(action)) return false;
    std::vector<int> steps = open_steps();
    const Step& next = step(action.steps[0]);
    const Region& region = step(steps[0]).region;
    if (next.region.pass != region.pass || next.region.micro_batch != region.micro_batch) return false;
    const std::string& dim = dims_of(program_, model_of(program_, steps))[0];
    const std::vector<VersionId> before = arrays_of(program_, steps);
    std::set<VersionId> sums;
    for (const int number : steps) {
      for (const VersionId v : step(number).results) {
        if (!begins_with(program_, v, dim)) sums.insert(v);
      }
    }
    const auto shares = [&](VersionId v) {
      return begins_with(program_, v, dim) && std::binary_search(before.begin(), before.end(), v);
    };
    const auto reads_sum = [&](VersionId v) { return sums.contains(v); };
    if (std::none_of(next.operands.begin(), next.operands.end(), shares)) return false;
    if (std::any_of(next.operands.begin(), next.operands.end(), reads_sum)) return false;
    steps.push_back(action.steps[0]);
    return common_dims(program_, steps) > 0;
  }

  bool pays(const Strips& strips) const {
    return strips.count() > 1 && strips.all_bytes().value > static_cast<double>(kLeastStrips * strip_bytes_);
  }

  void close() {
    const std::vector<int> steps = open_steps();
    if (steps.size() > 1 && pays(Strips(program_, steps, strip_bytes_, 0))) {
      const bool polls = std::any_of(open_.begin(), open_.end(), [](const Action& action) { return action.polls; });
      joined_.push_back({ActionKind::sweep, steps, polls});
    } else {
      joined_.insert(joined_.end(), open_.begin(), open_.end());
    }
    open_.clear();
  }

  const RankProgram& program_;
  Index strip_bytes_;
  std::vector<Action> open_;  ///< one step each
  std::vector<Action> joined_;
};

}  // namespace

Strips::Strips(const RankProgram& program, const std::vector<int>& steps, Index strip_bytes, Index rank) {
  const VersionId model = model_of(program, steps);
  const Shape shape = local_shape(program, model, rank);
  extents_.assign(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(common_dims(program, steps)));
  positions_ = element_count(extents_);
  for (const VersionId v : arrays_of(program, steps)) {
    if (!begins_with(program, v, dims_of(program, model)[0])) continue;
    cut_.push_back(v);
    bytes_ += local_bytes(program, v, rank);
  }
  if (positions_ == 0) {
    rows_ = 0;
    return;
  }
  const double position = bytes_.value / static_cast<double>(positions_);
  const auto wanted = std::max<Index>(1, static_cast<Index>(static_cast<double>(strip_bytes) / position));
  dim_ = extents_.size() - 1;
  while (dim_ > 0 && inner_ * extents_[dim_] <= wanted) inner_ *= extents_[dim_--];
  rows_ = std::clamp<Index>(wanted / inner_, 1, extents_[dim_]);
  outer_ = positions_ / inner_ / extents_[dim_];
  per_outer_ = (extents_[dim_] + rows_ - 1) / rows_;
}

std::vector<Range> Strips::box(Index number) const {
  std::vector<Range> box;
  for (const Index extent : extents_) box.push_back({0, extent});
  if (positions_ == 0) return box;
  const Index begin = number % per_outer_ * rows_;
  box[dim_] = {begin, std::min(begin + rows_, extents_[dim_])};
  Index rest = number / per_outer_;
  for (std::size_t d = dim_; d-- > 0; rest /= extents_[d]) box[d] = {rest % extents_[d], rest % extents_[d] + 1};
  return box;
}

Index Strips::first_position(Index number) const {
  if (positions_ == 0) return 0;
  return (number / per_outer_ * extents_[dim_] + number % per_outer_ * rows_) * inner_;
}

Index Strips::positions(const std::vector<Range>& box) {
  Index positions = 1;
  for (const Range& range : box) positions *= range.size();
  return positions;
}

bool Strips::cuts(VersionId version) const { return std::binary_search(cut_.begin(), cut_.end(), version); }

Bytes Strips::part(Bytes whole) const {
  if (positions_ == 0) return whole;
  return Bytes(whole.value / static_cast<double>(positions_) * static_cast<double>(most_positions()));
}

std::vector<Action> join_sweeps(const RankProgram& program, const std::vector<Action>& actions, Index strip_bytes) {
  return Joiner(program, strip_bytes).join(actions);
}

}  // namespace shardline
