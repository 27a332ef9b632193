#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "program/ir/rank_program.h"
#include "runtime/base/check.h"

// How a fault gives operations of a program another kernel.
namespace shardline {

/// What a faulty kernel does. A fault replaces one of these functions, or both.
struct Right {
  static void run(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays) {
    right.run(block, arrays);
  }
  static void visit(const BlockwiseKernel& right, const KernelArrays& arrays) { right.visit(arrays); }
};

/// A kernel in the place of another. It has the same name, so it has the same prices and is printed alike. Kernels keep
/// nothing between calls. So there is one such object for each fault, and one more for the gradient, and it keeps the
/// kernel in whose place it is.
template <class Wrong, bool gradient>
class StandIn {
 public:
  static const Kernel* of(const Kernel& right) {
    SHARDLINE_CHECK(right_ == nullptr || right_ == &right || &right == &kernel_, "{} stands in for {} already",
                    kernel_.name, right_->name);
    if (right_ != nullptr) return &kernel_;
    right_ = &right;
    kernel_ = right;
    kernel_.run = [](const PhaseBlock& block, const KernelArrays& arrays) { Wrong::run(*right_, block, arrays); };
    if (right.blockwise == nullptr) return &kernel_;
    blockwise_ = *right.blockwise;
    blockwise_.visit = [](const KernelArrays& arrays) { Wrong::visit(*right_->blockwise, arrays); };
    kernel_.blockwise = &blockwise_;
    return &kernel_;
  }

 private:
  static inline const Kernel* right_ = nullptr;
  static inline Kernel kernel_;
  static inline BlockwiseKernel blockwise_;
};

/// A phase of an operation, by their numbers. Steps of several micro-batches may be of the same.
using PhaseNumber = std::pair<int, int>;

/// The phases of the computations for which `wanted` holds.
template <class Wanted>
std::set<PhaseNumber> phases_where(const RankProgram& program, Wanted wanted) {
  std::set<PhaseNumber> phases;
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::compute && wanted(step)) phases.emplace(step.operation, step.phase);
  }
  return phases;
}

/// Gives these phases the kernel of Wrong. False if there are none.
template <class Wrong>
bool stand_in(RankProgram& program, const std::set<PhaseNumber>& phases) {
  for (const auto& [operation, number] : phases) {
    Operation& op = program.program.operations.at(static_cast<std::size_t>(operation));
    Phase& phase = op.phases.at(static_cast<std::size_t>(number));
    const bool gradient = phase.kernel->name.ends_with("_grad");
    phase.kernel = gradient ? StandIn<Wrong, true>::of(*phase.kernel) : StandIn<Wrong, false>::of(*phase.kernel);
  }
  return !phases.empty();
}

/// True if several ranks share index `name` of this step.
inline bool is_split(const RankProgram& program, const Step& step, const std::string& name) {
  const int index = program.operation_of(step).index_named(name);
  if (index < 0) return false;
  const Axes& axes = step.splits.at(static_cast<std::size_t>(index));
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) { return program.mesh.size(axis) > 1; });
}

}  // namespace shardline
