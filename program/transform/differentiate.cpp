#include "program/transform/differentiate.h"

#include <algorithm>
#include <functional>
#include <set>

#include "program/ops/operations.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Reverse mode over a program that grows while it runs.
class Reverse {
 public:
  Reverse(Program& program, const std::map<ArrayId, ArrayId>& seeds, const std::vector<ArrayId>& wanted)
      : program_(program), needed_(wanted.begin(), wanted.end()) {
    find_needed();
    find_path(seeds);
    for (const auto& [array, seed] : seeds) give(array, seed);
  }

  void run() {
    // The operations are copied: those appended below move the vector that holds them.
    for (const Operation& op : path_) {
      program_.region = {Pass::backward, op.region.layer};
      const ArrayId upstream = total(op.results[0]);
      if (upstream >= 0) reverse(op, upstream);
    }
  }

  /// The gradient of `array`, adding its contributions when that is not done yet; -1 when there are none.
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

 private:
  /// Arrays that depend on a wanted one. Only first results carry a gradient: the others are saved for the backward
  /// pass.
  void find_needed() {
    for (const Operation& op : program_.operations) {
      if (reads_needed(op)) needed_.insert(op.results[0]);
    }
  }

  /// The operations between the seeds and the wanted arrays, last first, and how often each array is read on the way.
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
    const std::vector<std::string> dims = program_.array(primal).dims;
    const ArrayId id = program_.add_array(name, dims, Role::gradient);
    program_.array(id).primal = primal;
    return id;
  }

  /// An array for the next contribution to the gradient of `primal`. One of several is no gradient yet: it may stay
  /// owed until it has been added to the others.
  ArrayId contribution(ArrayId primal) {
    const std::string name = "d" + program_.array(primal).name;
    if (uses_[primal] == 1) return gradient_array(primal, name);
    const std::vector<std::string> dims = program_.array(primal).dims;
    return program_.add_array(name + "." + std::to_string(++contributions_[primal]), dims);
  }

  void give(ArrayId array, ArrayId gradient) {
    std::vector<ArrayId>& parts = parts_[array];
    parts.push_back(gradient);
    if (program_.array(array).role == Role::parameter && static_cast<int>(parts.size()) == uses_[array]) total(array);
  }

  /// Gives each operand a new contribution, in order.
  std::vector<ArrayId> contributions(const std::vector<ArrayId>& operands) {
    std::vector<ArrayId> made;
    for (const ArrayId operand : operands) made.push_back(contribution(operand));
    return made;
  }

  void reverse(const Operation& op, ArrayId upstream) {
    using Rule = std::function<void(Reverse&, const Operation&, ArrayId)>;
    static const std::map<std::string, Rule> kRules = {
        {"einsum", &Reverse::reverse_einsum},
        {"add", &Reverse::reverse_add},
        {"silu_mul", &Reverse::reverse_silu_mul},
        {"gelu", &Reverse::reverse_gelu},
        {"rms_norm", &Reverse::reverse_rms_norm},
        {"rope", &Reverse::reverse_rope},
        {"attention", &Reverse::reverse_attention},
        {"embed", &Reverse::reverse_embed},
        {"cross_entropy", &Reverse::reverse_cross_entropy},
    };
    const auto rule = kRules.find(op.kind);
    SHARDLINE_CHECK(rule != kRules.end(), "operation {} has no derivative", op.kind);
    rule->second(*this, op, upstream);
  }

  void reverse_einsum(const Operation& op, ArrayId upstream) {
    std::vector<std::size_t> order;
    for (const bool parameters : {true, false}) {
      for (std::size_t k = 0; k < op.operands.size(); ++k) {
        const bool is_parameter = program_.array(op.operands[k]).role == Role::parameter;
        if (is_parameter == parameters && needed_.count(op.operands[k]) > 0) order.push_back(k);
      }
    }
    for (const std::size_t k : order) {
      std::vector<ArrayId> others;
      for (std::size_t j = 0; j < op.operands.size(); ++j) {
        if (j != k) others.push_back(op.operands[j]);
      }
      // The book writes the activation first in a weight's gradient and the gradient first in an activation's.
      const bool is_parameter = program_.array(op.operands[k]).role == Role::parameter;
      others.insert(is_parameter ? others.end() : others.begin(), upstream);
      const ArrayId made = contribution(op.operands[k]);
      einsum_into(program_, others, made);
      give(op.operands[k], made);
    }
  }

  void reverse_add(const Operation& op, ArrayId upstream) {
    for (const ArrayId operand : op.operands) {
      if (needed_.count(operand) > 0) give(operand, upstream);
    }
  }

  void reverse_silu_mul(const Operation& op, ArrayId upstream) {
    const std::vector<ArrayId> made = contributions(op.operands);
    silu_mul_gradient(program_, upstream, op, made[0], made[1]);
    give_all(op.operands, made);
  }

  void reverse_gelu(const Operation& op, ArrayId upstream) {
    const std::vector<ArrayId> made = contributions(op.operands);
    gelu_gradient(program_, upstream, op, made[0]);
    give_all(op.operands, made);
  }

  void reverse_rms_norm(const Operation& op, ArrayId upstream) {
    const std::vector<ArrayId> made = contributions(op.operands);
    rms_norm_gradient(program_, upstream, op, made[0], made[1]);
    give_all(op.operands, made);
  }

  void reverse_rope(const Operation& op, ArrayId upstream) {
    const std::vector<ArrayId> made = contributions(op.operands);
    rope_gradient(program_, upstream, op, made[0]);
    give_all(op.operands, made);
  }

  void reverse_attention(const Operation& op, ArrayId upstream) {
    const std::vector<ArrayId> made = contributions(op.operands);
    attention_gradient(program_, upstream, op, made[0], made[1], made[2]);
    give_all(op.operands, made);
  }

  void reverse_embed(const Operation& op, ArrayId upstream) {
    const ArrayId made = contribution(op.operands[0]);
    embed_gradient(program_, upstream, op, made);
    give(op.operands[0], made);
  }

  void reverse_cross_entropy(const Operation& op, ArrayId upstream) {
    const ArrayId made = contribution(op.operands[0]);
    cross_entropy_gradient(program_, upstream, op, made);
    give(op.operands[0], made);
  }

  void give_all(const std::vector<ArrayId>& operands, const std::vector<ArrayId>& made) {
    for (std::size_t k = operands.size(); k-- > 0;) give(operands[k], made[k]);
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
