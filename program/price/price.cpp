#include "program/price/price.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

namespace shardline {
namespace {

constexpr const char* kCores = "cores";

/// Seconds of work on each resource of a machine, for one operation.
class Loads {
 public:
  explicit Loads(const roofline::Hardware& hardware) : hardware_(hardware) {}

  void add(const Step& step, Seconds time) {
    if (!communicates(step.kind) && !changes_stage(step.kind)) {
      math_ += time;
      busy_[kCores] += time;
      return;
    }
    std::map<std::string, double> used;  // links by resource; their share of a core
    for (const Axis& axis : step.axes) {
      const roofline::Link& link = hardware_.link(axis);
      double& share = used[link.resource.empty() ? "axis " + axis : link.resource];
      share = std::max(share, link.frees_cores ? link.core_share : 1.0);
    }
    double taken = 0;
    for (const auto& [resource, share] : used) {
      moving_[resource] += time;
      if (share < 1) busy_[resource] += time;
      taken = std::max(taken, share);
    }
    busy_[kCores] += taken * time;
  }

  Seconds cores() const {
    const auto found = busy_.find(kCores);
    return found == busy_.end() ? Seconds(0) : found->second;
  }
  const std::map<std::string, Seconds>& links() const { return moving_; }
  Seconds math() const { return math_; }
  Seconds comms() const { return busiest(moving_); }
  Seconds total() const { return busiest(busy_); }

 private:
  static Seconds busiest(const std::map<std::string, Seconds>& loads) {
    Seconds most;
    for (const auto& [resource, time] : loads) most = std::max(most, time);
    return most;
  }

  const roofline::Hardware& hardware_;
  Seconds math_;
  std::map<std::string, Seconds> moving_;  ///< by link resource
  std::map<std::string, Seconds> busy_;    ///< by resource; links that keep the cores busy count as cores
};

/// The operation that a step is or serves.
int operation_of(const RankProgram& program, const Step& step) {
  return step.operation >= 0 ? step.operation : static_cast<int>(program.program.operations.size()) - 1;
}

roofline::Limiter limiter_of(const RankProgram& program, const ProgramPrice& price, const std::vector<int>& numbers) {
  const bool moving = price.busiest_link() > price.math;
  std::map<roofline::Limiter, Seconds> shares;
  for (std::size_t i = 0; i < price.steps.size(); ++i) {
    const roofline::Price& each = price.steps[i].price;
    if (communicates(program.steps[static_cast<std::size_t>(numbers[i])].kind) == moving)
      shares[each.limiter] += each.time;
  }
  roofline::Limiter limiter = roofline::Limiter::latency;
  Seconds most;
  for (const auto& [each, time] : shares) {
    if (time > most) limiter = each, most = time;
  }
  return limiter;
}

/// The price of the steps with these numbers. `made` has the estimate of each.
ProgramPrice price_of(const RankProgram& program, const std::vector<int>& numbers, std::vector<StepEstimate> made,
                      const roofline::Hardware& hardware) {
  ProgramPrice price;
  price.steps = std::move(made);
  std::map<int, Loads> operations;
  Loads all(hardware);
  for (std::size_t i = 0; i < price.steps.size(); ++i) {
    const Step& step = program.steps[static_cast<std::size_t>(numbers[i])];
    const StepEstimate& each = price.steps[i];
    operations.try_emplace(operation_of(program, step), hardware).first->second.add(step, each.price.time);
    all.add(step, each.price.time);
    price.sum += each.price.time;
    price.wire_bytes += each.wire_bytes;
    price.flops += each.flops;
  }
  for (const auto& [number, loads] : operations) {
    price.math += loads.math();
    price.comms += loads.comms();
    price.total += loads.total();
  }
  if (program.program.operations.empty()) price.total = price.sum;  // each step converts the result of the last one
  price.cores = all.cores();
  price.links = all.links();
  price.limiter = limiter_of(program, price, numbers);
  return price;
}

}  // namespace

ProgramPrice price(const RankProgram& program, const roofline::Hardware& hardware, std::size_t first,
                   ReshardMemo* memo) {
  std::vector<StepEstimate> estimates;
  for (std::size_t i = first; i < program.steps.size(); ++i) {
    estimates.push_back(estimate(program, program.steps[i], hardware, memo));
  }
  return price(program, std::move(estimates), hardware, first);
}

ProgramPrice price(const RankProgram& program, std::vector<StepEstimate> estimates, const roofline::Hardware& hardware,
                   std::size_t first) {
  std::vector<int> numbers(estimates.size());
  std::iota(numbers.begin(), numbers.end(), static_cast<int>(first));
  return price_of(program, numbers, std::move(estimates), hardware);
}

ProgramPrice price_of_steps(const RankProgram& program, const std::vector<int>& steps,
                            const std::vector<StepEstimate>& estimates, const roofline::Hardware& hardware) {
  std::vector<StepEstimate> made;
  for (const int number : steps) made.push_back(estimates[static_cast<std::size_t>(number)]);
  return price_of(program, steps, std::move(made), hardware);
}

Seconds ProgramPrice::busiest_link() const {
  Seconds most;
  for (const auto& [link, time] : links) most = std::max(most, time);
  return most;
}

bool cheaper(const ProgramPrice& a, const ProgramPrice& b) {
  // Single precision: sums of the same terms in another order become equal.
  const auto key = [](const ProgramPrice& p) {
    return std::pair(static_cast<float>(p.total.value), static_cast<float>(p.sum.value));
  };
  return key(a) < key(b);
}

}  // namespace shardline
