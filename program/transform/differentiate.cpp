#include "program/transform/differentiate.h"

#include <algorithm>
#include <set>

#include "program/ops/add.h"
#include "program/ops/builder.h"
#include "program/ops/table.h"

namespace shardline {
namespace {

/// Reverse mode over a program that grows during the walk.
class Reverse final : public Gradients {
 public:
  Reverse(Program& program, const std::map<ArrayId, ArrayId>& seeds, const std::vector<ArrayId>& wanted)
      : program_(program), needed_(wanted.begin(), wanted.end()) {
    find_needed();
    find_path(seeds);
    for (const auto& [array, seed] : seeds) give(array, seed);
  }

  void run() {
    // These are copies: the appends below move the vector of operations.
    for (const Operation& op : path_) {
      program_.region = {Pass::backward, op.region.layer};
      const ArrayId upstream = total(op.results[0]);
      if (upstream >= 0) derivative_of(op.kind)(*this, op, upstream);
    }
  }

  /// The gradient of `array`; adds its contributions if that is not done yet. -1 if there are none.
  ArrayId total(ArrayId array) {
    const auto done = totals_.find(array);
    if (done != totals_.end()) return done->second;
    const auto parts = parts_.find(array);
    if (parts == parts_.end()) return -1;
    ArrayId sum = parts->second[0];
    if (parts->second.size() > 1) {
      sum = gradient_array(array, "d" + program_.array(array).name);
      add_into(program_, parts->second, sum);
    }
    totals_[array] = sum;
    return sum;
  }

  Program& program() override { return program_; }
  bool needed(ArrayId array) const override { return needed_.count(array) > 0; }

  /// An array for the next contribution to the gradient of `primal`. One of several contributions
  /// is not a gradient yet: it may stay owed until the sum.
  ArrayId contribution(ArrayId primal) override {
    const std::string name = "d" + program_.array(primal).name;
    if (uses_[primal] == 1) return gradient_array(primal, name);
    return add_like(program_, name + "." + std::to_string(++contributions_[primal]), primal);
  }

  void give(ArrayId array, ArrayId gradient) override {
    std::vector<ArrayId>& parts = parts_[array];
    parts.push_back(gradient);
    if (static_cast<int>(parts.size()) == uses_[array]) total(array);
  }

 private:
  /// Arrays that depend on a wanted one. Only first results have a gradient. The other results are
  /// saved for the backward pass.
  void find_needed() {
    for (const Operation& op : program_.operations) {
      if (reads_needed(op)) needed_.insert(op.results[0]);
    }
  }

  /// The operations between seeds and wanted arrays, last first, and the number of reads of each
  /// array among them.
  void find_path(const std::map<ArrayId, ArrayId>& seeds) {
    std::set<ArrayId> live;
    for (const auto& [array, seed] : seeds) {
      live.insert(array);
      ++uses_[array];
    }
    for (auto op = program_.operations.rbegin(); op != program_.operations.rend(); ++op) {
      if (live.count(op->results[0]) == 0 || !reads_needed(*op)) continue;
      path_.push_back(*op);
      for (const ArrayId operand : op->operands) {
        if (needed_.count(operand) == 0) continue;
        live.insert(operand);
        ++uses_[operand];
      }
    }
  }

  bool reads_needed(const Operation& op) const {
    return std::any_of(op.operands.begin(), op.operands.end(), [&](ArrayId a) { return needed_.count(a) > 0; });
  }

  ArrayId gradient_array(ArrayId primal, const std::string& name) {
    const ArrayId id = add_like(program_, name, primal, Role::gradient);
    program_.array(id).primal = primal;
    return id;
  }

  Program& program_;
  std::set<ArrayId> needed_;
  std::vector<Operation> path_;
  std::map<ArrayId, int> uses_;
  std::map<ArrayId, int> contributions_;
  std::map<ArrayId, std::vector<ArrayId>> parts_;
  std::map<ArrayId, ArrayId> totals_;
};

}  // namespace

std::map<ArrayId, ArrayId> differentiate(Program& program, const std::map<ArrayId, ArrayId>& seeds,
                                         const std::vector<ArrayId>& wanted) {
  Reverse reverse(program, seeds, wanted);
  reverse.run();
  std::map<ArrayId, ArrayId> gradients;
  for (const ArrayId array : wanted) {
    const ArrayId gradient = reverse.total(array);
    if (gradient >= 0) gradients[array] = gradient;
  }
  return gradients;
}

}  // namespace shardline
