// Compares element-wise activations of programs with their formulas in f64, for every count of elements.

#include <functional>
#include <string>

#include "program/ops/run_phase.h"
#include "program/ops/table.h"
#include "program/transform/differentiate.h"
#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline {
namespace {

using kernels::testing::Array;
using kernels::testing::expect_close;
using kernels::testing::random_array;
using kernels::testing::unwritten;

template <class T>
class ActivationTest : public ::testing::Test {};
TYPED_TEST_SUITE(ActivationTest, kernels::testing::FloatTypes);

const std::vector<Index> kCounts{0, 1, 7, 31, 32, 33, 64, 200};

double silu(double g) { return g / (1 + std::exp(-g)); }

double gelu_by_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

/// An activation of one operand, or of a gate and its factor.
struct Activation {
  std::string kind;
  std::function<double(double, double)> formula;  ///< of an element of each operand
  bool gated = true;
};

const std::vector<Activation> kActivations{
    {"silu_mul", [](double g, double u) { return silu(g) * u; }},
    {"gelu_mul", [](double g, double u) { return gelu_by_tanh(g) * u; }},
    {"gelu", [](double x, double) { return gelu_by_tanh(x); }, false},
};

/// The sample program of a kind with its derivative. Its arrays have `count` elements.
Program program_of(const Activation& activation, Index count) {
  Program program;
  program.sizes = {{"I", 1}, {"J", count}};
  for (const OperationKind& kind : operation_kinds()) {
    if (kind.name != activation.kind) continue;
    const ArrayId y = kind.sample(program);
    const std::vector<std::string> dims = program.array(y).dims;
    const ArrayId dy = program.add_input("dy", dims, Role::gradient);
    const std::vector<ArrayId> operands = program.operations[0].operands;
    differentiate(program, {{y, dy}}, operands);
  }
  SHARDLINE_CHECK(program.operations.size() == 2, "{} is no activation", activation.kind);
  return program;
}

/// A tensor over the test's own memory.
template <class T>
Tensor tensor_of(View<const T> view) {
  auto* memory = reinterpret_cast<std::byte*>(const_cast<T*>(view.data));
  return {kDTypeOf<T>, {1, view.size()}, std::shared_ptr<std::byte>(memory, [](std::byte*) {})};
}

template <class T>
void run(const Activation& activation, std::size_t operation, const std::vector<View<const T>>& operands,
         const std::vector<View<T>>& results) {
  const Index count = results[0].size();
  const Program program = program_of(activation, count);
  std::vector<Tensor> in, out;
  for (const View<const T>& view : operands) in.push_back(tensor_of(view));
  for (const View<T>& view : results) out.push_back(tensor_of(View<const T>{view.data, view.shape}));
  std::vector<const Tensor*> from;
  std::vector<Tensor*> to;
  for (const Tensor& tensor : in) from.push_back(&tensor);
  for (Tensor& tensor : out) to.push_back(&tensor);
  run_phase(program, program.operations[operation], 0, {{0, 1}, {0, count}}, from, to);
}

template <class T>
Array<T> value(const Activation& activation, const Array<T>& g, const Array<T>& u) {
  auto y = unwritten<T>(g.shape);
  std::vector<View<const T>> operands{g.view()};
  if (activation.gated) operands.push_back(u.view());
  run<T>(activation, 0, operands, {y.view()});
  return y;
}

TYPED_TEST(ActivationTest, EqualsItsFormula) {
  using T = TypeParam;
  for (const Activation& activation : kActivations) {
    for (const Index count : kCounts) {
      const auto g = random_array<T>("g", {count}), u = random_array<T>("u", {count});
      Array<double> expected({count});
      for (Index i = 0; i < count; ++i) {
        expected[i] = activation.formula(static_cast<double>(g[i]), static_cast<double>(u[i]));
      }
      expect_close(value(activation, g, u), expected);
    }
  }
}

TYPED_TEST(ActivationTest, SaturatesAndKeepsNan) {
  using T = TypeParam;
  const T large = T(1e4);
  Array<T> x({5});
  x.values = {large, -large, T(0), std::numeric_limits<T>::quiet_NaN(), T(1)};
  for (const Activation& activation : kActivations) {
    const Array<T> y = value(activation, x, Array<T>({5}, T(1)));
    EXPECT_EQ(y[0], large);
    EXPECT_NEAR(static_cast<double>(y[1]), 0, 1e-30);
    EXPECT_EQ(y[2], T(0));
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_FALSE(std::isnan(y[4]));
  }
}

/// The same values give the same bits at every distance from an aligned address, for whole vectors and
/// remainders.
TYPED_TEST(ActivationTest, DoesNotDependOnAlignment) {
  using T = TypeParam;
  const Index count = 101;
  const auto g = random_array<T>("g", {count});
  for (const Activation& activation : kActivations) {
    const Array<T> expected = value(activation, g, g);
    for (Index shift = 0; shift < 9; ++shift) {
      Array<T> from({count + 16});
      auto to = unwritten<T>({count + 16});
      std::copy(g.values.begin(), g.values.end(), from.values.begin() + shift);
      const View<const T> shifted{from.values.data() + shift, {count}};
      std::vector<View<const T>> operands{shifted};
      if (activation.gated) operands.push_back(shifted);
      run<T>(activation, 0, operands, {{to.values.data() + shift, {count}}});
      for (Index i = 0; i < count; ++i) ASSERT_EQ(to[i + shift], expected[i]) << "shift " << shift;
    }
  }
}

/// Central differences of the formula share nothing with the code.
TYPED_TEST(ActivationTest, GradientsEqualDifferencesOfTheFormula) {
  using T = TypeParam;
  constexpr double kStep = 1e-5;
  constexpr double kLoose = std::is_same_v<T, float> ? 1e-4 : 1e-8;
  for (const Activation& activation : kActivations) {
    for (const Index count : kCounts) {
      const auto dy = random_array<T>("dy", {count}), g = random_array<T>("g", {count}),
                 u = random_array<T>("u", {count});
      auto dg = unwritten<T>({count}), du = unwritten<T>({count});
      if (activation.gated) {
        run<T>(activation, 1, {dy.view(), g.view(), u.view()}, {dg.view(), du.view()});
      } else {
        run<T>(activation, 1, {dy.view(), g.view()}, {dg.view()});
      }
      Array<double> by_g({count}), by_u({count});
      for (Index i = 0; i < count; ++i) {
        const auto x = static_cast<double>(g[i]), w = static_cast<double>(u[i]), d = static_cast<double>(dy[i]);
        const auto& f = activation.formula;
        by_g[i] = d * (f(x + kStep, w) - f(x - kStep, w)) / (2 * kStep);
        by_u[i] = d * (f(x, w + kStep) - f(x, w - kStep)) / (2 * kStep);
      }
      expect_close(dg, by_g, kLoose);
      if (activation.gated) expect_close(du, by_u, kLoose);
    }
  }
}

TEST(ActivationErrorTest, RefusesArraysOfOtherSizes) {
  const Array<float> a({4}), b({5});
  auto y = unwritten<float>({5});
  for (const Activation& activation : kActivations) {
    std::vector<View<const float>> operands{a.view()};
    if (activation.gated) operands.push_back(b.view());
    EXPECT_THROW(run<float>(activation, 0, operands, {y.view()}), Error) << activation.kind;
  }
}

TEST(ActivationCostTest, CountsEveryArrayOnce) {
  for (const Activation& activation : kActivations) {
    const Program program = program_of(activation, 10);
    const auto bytes = [&](std::size_t operation) {
      return phase_cost(program, program.operations[operation], 0, {{0, 1}, {0, 10}}).bytes;
    };
    EXPECT_EQ(bytes(0), Bytes(activation.gated ? 120 : 80)) << activation.kind;
    EXPECT_EQ(bytes(1), Bytes(activation.gated ? 200 : 120)) << activation.kind;
  }
}

}  // namespace
}  // namespace shardline
