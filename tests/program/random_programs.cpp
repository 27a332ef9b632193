#include "tests/program/random_programs.h"

#include <algorithm>
#include <set>

#include "program/ops/add.h"
#include "program/ops/add_bias.h"
#include "program/ops/einsum.h"
#include "program/ops/gelu.h"
#include "program/ops/gelu_mul.h"
#include "program/ops/rms_norm.h"
#include "program/ops/silu_mul.h"
#include "program/transform/differentiate.h"

namespace shardline {
namespace {

using Dims = std::vector<std::string>;

const Dims kDims = {"I", "J", "K", "L"};

/// A sharding that gives every axis a dim, in any order, no dim, or (`may_owe`) makes it unreduced.
Sharding random_sharding(Dice& dice, const AbstractMesh& mesh, std::size_t rank, bool may_owe) {
  Sharding sharding = Sharding::replicated(rank);
  for (const Axis& axis : mesh.axes()) {
    if (may_owe && dice.once_in(6)) {
      sharding.unreduced.push_back(axis);
    } else if (rank > 0 && !dice.once_in(3)) {
      Axes& dim = sharding.dims[static_cast<std::size_t>(dice.between(0, static_cast<Index>(rank) - 1))];
      dice.once_in(2) ? dim.insert(dim.begin(), axis) : dim.insert(dim.end(), axis);
    }
  }
  return sharding;
}

class Chain {
 public:
  Chain(Dice& dice, const AbstractMesh& mesh) : dice_(dice), mesh_(mesh) {
    for (const std::string& dim : kDims) program().sizes[dim] = dice_.between(1, 6);
    for (const Axis& axis : mesh.axes()) {
      if (!dice_.once_in(2)) continue;
      const Dims dims = some_dims();
      made_.declaration.work[axis] = {dims.begin(), dims.end()};
    }
    made_.declaration.policy = random_policy(dice);
  }

  DeclaredProgram make() {
    for (int i = 0; i < 3; ++i) add_input();
    for (Index n = dice_.between(2, 5); n > 0; --n) add_operation();
    if (dice_.once_in(2)) add_gradients();
    for (const Operation& op : program().operations) {
      for (const ArrayId result : op.results) finish_result(result);
    }
    return std::move(made_);
  }

 private:
  Program& program() { return made_.program; }
  const Dims& dims(ArrayId a) { return program().array(a).dims; }

  Dims some_dims() {
    Dims chosen;
    for (const std::string& dim : kDims) {
      if (dice_.once_in(2)) chosen.insert(dice_.once_in(2) ? chosen.begin() : chosen.end(), dim);
    }
    return chosen;
  }

  Dims some_last(const Dims& all) {
    return {all.begin() + dice_.between(0, static_cast<Index>(all.size())), all.end()};
  }

  void declare_at_random(ArrayId a, bool may_owe) {
    made_.declaration.layouts[a] = random_sharding(dice_, mesh_, dims(a).size(), may_owe);
  }

  ArrayId input(const Dims& dims) {
    const std::string name = "x" + std::to_string(program().inputs.size());
    const Role role = dice_.once_in(2) ? Role::parameter : Role::activation;
    const ArrayId a = program().add_input(name, dims, role);
    declare_at_random(a, true);
    return a;
  }

  void add_input() { known_.push_back(input(some_dims())); }

  std::string next_name() { return "y" + std::to_string(program().operations.size()); }

  void add_operation() {
    program().region = {Pass::forward, static_cast<int>(dice_.between(0, 2))};
    const ArrayId x = dice_.one_of(known_);
    const Dims of_x = dims(x);
    switch (dice_.between(1, 10)) {
      case 1:
        known_.push_back(add(program(), next_name(), {x, input(of_x)}));
        return;
      case 2:
        known_.push_back(silu_mul(program(), next_name(), x, input(of_x)));
        return;
      case 9:
        known_.push_back(gelu_mul(program(), next_name(), x, input(of_x)));
        return;
      case 10:
        known_.push_back(add_bias(program(), next_name(), x, input(some_last(of_x))));
        return;
      case 3:
        known_.push_back(gelu(program(), next_name(), x));
        return;
      case 4:
        if (of_x.empty()) return;
        known_.push_back(rms_norm(program(), next_name(), x, input({of_x.back()}), 1e-5));
        return;
      default:
        add_einsum(x);
    }
  }

  /// One to three operands. The result keeps every index of only one operand, so it can be differentiated.
  void add_einsum(ArrayId x) {
    std::vector<ArrayId> operands{x};
    while (operands.size() < 3 && !dice_.once_in(3)) operands.push_back(dice_.one_of(known_));
    Dims result;
    for (const std::string& dim : kDims) {
      const auto holders = std::count_if(operands.begin(), operands.end(), [&](ArrayId a) {
        return std::find(dims(a).begin(), dims(a).end(), dim) != dims(a).end();
      });
      if (holders == 1 || (holders > 1 && dice_.once_in(2))) {
        result.insert(dice_.once_in(2) ? result.begin() : result.end(), dim);
      }
    }
    known_.push_back(einsum(program(), next_name(), operands, result));
  }

  void add_gradients() {
    const ArrayId y = known_.back();
    if (program().operations.empty()) return;
    const ArrayId seed = program().add_input("dy", dims(y), Role::gradient);
    program().array(seed).primal = y;
    declare_at_random(seed, false);
    const std::vector<ArrayId> wanted(known_.begin(), known_.begin() + 2);
    for (const auto& [array, gradient] : differentiate(program(), {{y, seed}}, wanted)) {
      if (gradient != seed) program().outputs.push_back(gradient);
    }
  }

  /// Some results have a fixed layout, some are outputs, and some outputs have no layout.
  void finish_result(ArrayId a) {
    const bool is_output = std::find(program().outputs.begin(), program().outputs.end(), a) != program().outputs.end();
    if (dice_.once_in(3)) declare_at_random(a, program().array(a).reduce == ReduceOp::sum && dice_.once_in(3));
    if (!is_output && dice_.once_in(2)) program().outputs.push_back(a);
  }

  Dice& dice_;
  const AbstractMesh& mesh_;
  DeclaredProgram made_;
  std::vector<ArrayId> known_;  ///< inputs and results so far
};

}  // namespace

AbstractMesh random_mesh(Dice& dice) {
  static const std::vector<Axes> kNames = {{"X"}, {"Y"}, {"X", "Y"}, {"Y", "X"}, {"W", "X", "Y"}};
  while (true) {
    std::vector<std::pair<Axis, Index>> axes;
    Index ranks = 1;
    for (const Axis& name : dice.one_of(kNames)) {
      axes.emplace_back(name, dice.between(1, 4));
      ranks *= axes.back().second;
    }
    if (ranks <= 12) return AbstractMesh(axes);
  }
}

Strategy random_strategy(Dice& dice, const AbstractMesh& mesh) {
  Strategy strategy;
  for (const Axis& axis : mesh.axes()) strategy.emplace_back(axis, dice.one_of(training_roles()));
  return strategy;
}

Policy random_policy(Dice& dice) {
  static const std::vector<Reuse> kReuse = {Reuse::regather, Reuse::keep};
  const Reuse parameters = dice.one_of(kReuse);
  return {parameters, dice.one_of(kReuse)};
}

TransformerConfig random_config(Dice& dice) {
  TransformerConfig config;
  config.vocab = dice.between(1, 12);
  config.d_model = dice.between(1, 9);
  config.layers = dice.once_in(4) ? 2 : 1;
  config.kv_heads = dice.between(1, 3);
  config.heads = config.kv_heads * dice.between(1, 3);
  config.head_dim = 2 * dice.between(1, 2);
  config.d_ff = dice.between(1, 9);
  config.tied = dice.once_in(2);
  config.qkv_biases = dice.once_in(2);
  return config;
}

DeclaredProgram random_chain(Dice& dice, const AbstractMesh& mesh) { return Chain(dice, mesh).make(); }

}  // namespace shardline
