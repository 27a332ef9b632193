#include "program/transform/differentiate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "program/ops/add.h"
#include "program/ops/add_bias.h"
#include "program/ops/attention.h"
#include "program/ops/cross_entropy.h"
#include "program/ops/einsum.h"
#include "program/ops/embed.h"
#include "program/ops/gelu.h"
#include "program/ops/rms_norm.h"
#include "program/ops/rope.h"
#include "program/ops/silu_mul.h"
#include "program/ops/squared_error.h"
#include "program/ops/sum_squares.h"
#include "runtime/base/counter_rng.h"
#include "tests/program/programs.h"
#include "tests/program/simulator.h"

/// Gradients of logical programs against central differences in f64.
namespace shardline {
namespace {

constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-7;

Tensor& at(Values& values, ArrayId a) { return values.at(static_cast<std::size_t>(a)); }

double value_of(const Program& program, const Values& inputs, ArrayId loss) {
  const Values values = run_unsharded(program, inputs);
  return values.at(static_cast<std::size_t>(loss)).view<double>()[0];
}

/// (loss(w + h direction) - loss(w - h direction)) / 2h
double slope(const Program& program, const Values& inputs, ArrayId loss, ArrayId w, const Tensor& direction) {
  double difference = 0;
  for (const double sign : {1.0, -1.0}) {
    Values moved = inputs;
    at(moved, w) = at(moved, w).clone();
    for (Index i = 0; i < direction.size(); ++i) {
      at(moved, w).view<double>()[i] += sign * kStep * direction.view<double>()[i];
    }
    difference += sign * value_of(program, moved, loss);
  }
  return difference / (2 * kStep);
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (Index i = 0; i < a.size(); ++i) sum += a.view<double>()[i] * b.view<double>()[i];
  return sum;
}

/// Compares `gradient` with the slopes along `count` random directions and along the first axes of the space.
void expect_gradient(const Program& program, const Values& inputs, ArrayId loss, ArrayId w, const Tensor& gradient) {
  ASSERT_EQ(gradient.shape(), program.array(w).shape);
  for (Index trial = 0; trial < gradient.size() + 2; ++trial) {
    Tensor direction = Tensor::zeros(DType::f64, gradient.shape());
    if (trial < gradient.size()) direction.view<double>()[trial] = 1;
    const CounterRng rng(static_cast<std::uint64_t>(trial), "direction");
    for (Index i = 0; i < gradient.size() && trial >= gradient.size(); ++i) {
      direction.view<double>()[i] = rng.normal(i);
    }
    const double expected = slope(program, inputs, loss, w, direction);
    ASSERT_NEAR(dot(gradient, direction), expected, kTolerance * std::max(1.0, std::abs(expected)))
        << program.array(w).name << ", direction " << trial;
  }
}

/// Differentiates sum(y c) with random c, and compares the gradient of every floating-point input.
void expect_gradients(Program p, ArrayId y) {
  const std::vector<std::string> dims = p.array(y).dims;
  std::vector<ArrayId> wanted;
  for (const ArrayId a : p.inputs) {
    if (!is_integer(p.array(a).dtype)) wanted.push_back(a);
  }
  const ArrayId c = p.add_input("c", dims, Role::activation);
  const ArrayId loss = einsum(p, "loss", {y, c}, {});
  const Program forward = p;
  const std::map<ArrayId, ArrayId> gradients = differentiate(p, {{y, c}}, wanted);
  Values inputs = random_inputs(p, 5);
  Values values = run_unsharded(p, inputs);
  inputs.resize(forward.arrays.size());
  ASSERT_EQ(gradients.size(), wanted.size());
  for (const auto& [array, gradient] : gradients) {
    expect_gradient(forward, inputs, loss, array, at(values, gradient));
  }
}

Program sized() {
  Program p;
  p.sizes = {{"B", 2}, {"T", 3}, {"D", 4}, {"K", 2}, {"G", 2}, {"H", 4}, {"F", 3}, {"V", 5}};
  return p;
}

TEST(Differentiate, Einsum) {
  Program p = sized();
  const ArrayId a = p.add_input("a", {"B", "D"}, Role::activation);
  const ArrayId b = p.add_input("b", {"D", "F"}, Role::parameter);
  expect_gradients(p, einsum(p, "y", {a, b}, {"F", "B"}));
}

TEST(Differentiate, EinsumOfOneAndOfThree) {
  Program p = sized();
  const ArrayId a = p.add_input("a", {"B", "D"}, Role::activation);
  const ArrayId b = p.add_input("b", {"D", "F"}, Role::parameter);
  const ArrayId turned = einsum(p, "turned", {a}, {"D", "B"});
  const ArrayId c = p.add_input("x", {"F", "D", "B"}, Role::activation);
  expect_gradients(p, einsum(p, "y", {turned, b, c}, {"B"}));
}

TEST(Differentiate, OneArrayInSeveralPlaces) {
  Program p = sized();
  const ArrayId a = p.add_input("a", {"B", "D"}, Role::parameter);
  const ArrayId square = einsum(p, "square", {a, a}, {"B", "D"});
  const ArrayId cube = einsum(p, "cube", {a, square, a}, {"B", "D"});
  expect_gradients(p, add(p, "y", {cube, a, a, square}));
}

TEST(Differentiate, SiluMul) {
  Program p = sized();
  const ArrayId g = p.add_input("g", {"B", "F"}, Role::activation);
  expect_gradients(p, silu_mul(p, "y", g, p.add_input("u", {"B", "F"}, Role::activation)));
}

TEST(Differentiate, Gelu) {
  Program p = sized();
  expect_gradients(p, gelu(p, "y", p.add_input("x", {"B", "F"}, Role::activation)));
}

TEST(Differentiate, RmsNorm) {
  Program p = sized();
  const ArrayId x = p.add_input("x", {"B", "T", "D"}, Role::activation);
  expect_gradients(p, rms_norm(p, "y", x, p.add_input("w", {"D"}, Role::parameter), 1e-3));
}

TEST(Differentiate, Rope) {
  Program p = sized();
  const ArrayId x = p.add_input("x", {"B", "T", "K", "H"}, Role::activation);
  const ArrayId positions = p.add_input("positions", {"T"}, Role::positions);
  Program scaled = p, packed = p;
  expect_gradients(p, rope(p, "y", x, positions, 100));
  const kernels::RopeScaling scaling{.factor = 8, .original_positions = 20};
  expect_gradients(scaled, rope(scaled, "y", x, positions, 100, scaling));
  const ArrayId starts = packed.add_input("starts", {"B", "T"}, Role::tokens);
  expect_gradients(packed, rope(packed, "y", x, positions, 100, {}, starts));
}

TEST(Differentiate, AddBias) {
  for (const std::vector<std::string>& dims : {std::vector<std::string>{"B", "T", "K", "H"}, {"K", "H"}, {"H"}, {}}) {
    Program p = sized();
    const ArrayId x = p.add_input("x", {"B", "T", "K", "H"}, Role::activation);
    expect_gradients(p, add_bias(p, "y", x, p.add_input("b", dims, Role::parameter)));
  }
  Program p = sized();
  const ArrayId x = p.add_input("x", {"B", "T", "H"}, Role::activation);
  EXPECT_THROW(add_bias(p, "y", x, p.add_input("b", {"B", "T"}, Role::parameter)), UsageError);
  EXPECT_THROW(add_bias(p, "y", p.add_input("short", {"H"}, Role::activation), x), UsageError);
}

TEST(Differentiate, Attention) {
  Program p = sized();
  const ArrayId q = p.add_input("q", {"B", "T", "K", "G", "H"}, Role::activation);
  const ArrayId k = p.add_input("k", {"B", "T", "K", "H"}, Role::activation);
  const ArrayId v = p.add_input("v", {"B", "T", "K", "H"}, Role::activation);
  const ArrayId positions = p.add_input("positions", {"T"}, Role::positions);
  Program packed = p;
  expect_gradients(p, attention(p, "y", q, k, v, positions));
  const ArrayId starts = packed.add_input("starts", {"B", "T"}, Role::tokens);
  expect_gradients(packed, attention(packed, "y", q, k, v, positions, starts));
}

TEST(Differentiate, Embed) {
  Program p = sized();
  const ArrayId table = p.add_input("table", {"V", "D"}, Role::parameter);
  expect_gradients(p, embed(p, "y", table, p.add_input("ids", {"B", "T"}, Role::tokens)));
}

TEST(Differentiate, CrossEntropy) {
  Program p = sized();
  const ArrayId logits = p.add_input("logits", {"B", "T", "V"}, Role::activation);
  expect_gradients(p, cross_entropy(p, "y", logits, p.add_input("labels", {"B", "T"}, Role::tokens)));
}

TEST(Differentiate, SquaredErrorInBothOperands) {
  Program p = sized();
  const ArrayId out = p.add_input("out", {"B", "D"}, Role::activation);
  expect_gradients(p, squared_error(p, "y", out, p.add_input("target", {"B", "D"}, Role::activation), 3));
}

TEST(Differentiate, Mlp) {
  const Mlp mlp = make_mlp({3, 4, 5});
  Program p = mlp.program;
  const ArrayId loss = einsum(p, "loss", {p.find("Out"), p.find("dOut")}, {});
  Values inputs = random_inputs(p, 2);
  Values values = run_unsharded(p, inputs);
  ASSERT_EQ(mlp.gradients.size(), 3U);
  for (const auto& [array, gradient] : mlp.gradients) expect_gradient(p, inputs, loss, array, at(values, gradient));
}

/// Every weight of a Transformer, tied and not, along a random direction.
TEST(Differentiate, Transformer) {
  for (const bool tied : {false, true}) {
    const TrainingStep step = small_training_step(false, tied, 2);
    const Model forward = make_evaluation(small_config(false, tied, 2), small_batch(false));
    Values inputs = random_inputs(step.model.program, 3);
    Values values = run_unsharded(step.model.program, inputs);
    const Values own = random_inputs(forward.program, 3);
    ASSERT_EQ(step.gradients.size(), tied ? 20U : 21U);
    for (std::size_t i = 0; i < step.gradients.size(); ++i) {
      const ArrayId w = forward.parameters[i].array;
      const Tensor& gradient = at(values, step.gradients[i]);
      Tensor direction(DType::f64, gradient.shape());
      const CounterRng rng(i, "direction");
      for (Index e = 0; e < direction.size(); ++e) direction.view<double>()[e] = rng.normal(e);
      const double expected = slope(forward.program, own, forward.loss, w, direction);
      EXPECT_NEAR(dot(gradient, direction), expected, kTolerance * std::max(0.1, std::abs(expected)))
          << forward.program.array(w).name << (tied ? ", tied" : "");
    }
  }
}

TEST(Differentiate, ArraysThatTheSeedDoesNotDependOnHaveNoGradient) {
  Program p = sized();
  const ArrayId a = p.add_input("a", {"B"}, Role::activation);
  const ArrayId b = p.add_input("b", {"B"}, Role::activation);
  const ArrayId y = gelu(p, "y", a);
  const std::map<ArrayId, ArrayId> gradients =
      differentiate(p, {{y, p.add_input("dy", {"B"}, Role::gradient)}}, {a, b});
  EXPECT_EQ(gradients.count(a), 1U);
  EXPECT_EQ(gradients.count(b), 0U);
}

TEST(Differentiate, WhatEinsumHasNoMeaningForIsRefused) {
  Program p = sized();
  const ArrayId a = p.add_input("a", {"B", "D"}, Role::activation);
  EXPECT_THROW(einsum(p, "y", {a}, {"B", "F"}), UsageError);
  EXPECT_THROW(einsum(p, "y", {}, {}), UsageError);
  EXPECT_THROW(einsum(p, "y", {a, a, a, a}, {}), UsageError);
}

TEST(Differentiate, OperationsWithoutADerivativeAreNamed) {
  Program p = sized();
  const ArrayId y = sum_squares(p, "y", p.add_input("a", {"B"}, Role::activation));
  const ArrayId seed = p.add_input("one", {}, Role::whole);
  try {
    differentiate(p, {{y, seed}}, {p.inputs[0]});
    FAIL() << "sum_squares was differentiated";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("sum_squares has no derivative"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace shardline
