// The samples of the operations drive these tests. The kernels run in both element types. The derivatives agree
// with central differences.

#include "program/transform/samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "program/ops/table.h"
#include "runtime/base/counter_rng.h"

namespace shardline {
namespace {

/// The gradients that the derivative of the sample makes for its inputs, by the inputs.
std::map<ArrayId, ArrayId> gradients_of(const Program& program) {
  const std::vector<ArrayId>& inputs = program.inputs;
  std::map<ArrayId, ArrayId> gradients;
  for (ArrayId id = 0; id < static_cast<ArrayId>(program.arrays.size()); ++id) {
    const Array& array = program.array(id);
    const bool of_input = std::find(inputs.begin(), inputs.end(), array.primal) != inputs.end();
    if (array.role == Role::gradient && of_input) gradients[array.primal] = id;
  }
  return gradients;
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (Index i = 0; i < a.size(); ++i) sum += a.view<double>()[i] * b.view<double>()[i];
  return sum;
}

/// The result after adding `step` times `direction` to `input`. Restores the input.
Tensor moved(SampleRun& run, ArrayId input, const Tensor& direction, double step) {
  const Tensor before = run.array(input).clone();
  for (Index i = 0; i < before.size(); ++i) run.array(input).view<double>()[i] += step * direction.view<double>()[i];
  run.run_all();
  Tensor result = run.array(run.result()).clone();
  run.array(input) = before.clone();
  return result;
}

/// The change of sum(y dy) along `direction`. The results are subtracted before the sum, which would round more.
double central_difference(SampleRun& run, ArrayId input, const Tensor& direction) {
  constexpr double kStep = 1e-6;  // small, so that no token chooses other experts
  Tensor change = moved(run, input, direction, kStep);
  const Tensor below = moved(run, input, direction, -kStep);
  for (Index i = 0; i < change.size(); ++i) change.view<double>()[i] -= below.view<double>()[i];
  return dot(change, run.array(run.program().inputs.back())) / (2 * kStep);
}

TEST(Samples, DerivativesEqualCentralDifferences) {
  int checked = 0;
  for (const OperationKind& kind : operation_kinds()) {
    if (kind.derivative == nullptr || kind.name == "add") continue;  // the derivative of add is the gradient itself
    SampleRun run(std::string(kind.name), DType::f64);
    const std::map<ArrayId, ArrayId> gradients = gradients_of(run.program());
    ASSERT_FALSE(gradients.empty()) << kind.name;
    for (const auto& [input, gradient] : gradients) {
      Tensor direction = Tensor::zeros(DType::f64, run.array(input).shape());
      const CounterRng rng(3, "direction");
      for (Index i = 0; i < direction.size(); ++i) direction.view<double>()[i] = rng.normal(i);
      run.run_all();
      const double slope = dot(run.array(gradient), direction);
      const double expected = central_difference(run, input, direction);
      EXPECT_NEAR(slope, expected, 2e-5 * std::max(1.0, std::abs(expected)))
          << kind.name << " in " << run.program().array(input).name;
      ++checked;
    }
  }
  EXPECT_GE(checked, 12);
}

void expect_same(const Tensor& a, const Tensor& b) {
  for (Index i = 0; i < a.size(); ++i) EXPECT_EQ(a.view<std::int32_t>()[i], b.view<std::int32_t>()[i]) << i;
}

TEST(Samples, BothTypesOfElementsAgree) {
  for (const OperationKind& kind : operation_kinds()) {
    SampleRun wide(std::string(kind.name), DType::f64), narrow(std::string(kind.name), DType::f32);
    wide.run_all();
    narrow.run_all();
    const auto& arrays = narrow.program().arrays;
    const bool rounds = std::any_of(arrays.begin(), arrays.end(), [](const auto& a) { return a.dtype == DType::bf16; });
    const double tolerance = rounds ? 1.0 / 256 : 1e-4;
    for (const Operation& operation : wide.program().operations) {
      for (const ArrayId result : operation.results) {
        const Tensor& exact = wide.array(result);
        if (is_integer(exact.dtype())) {
          expect_same(exact, narrow.array(result));
          continue;
        }
        const Tensor rounded = narrow.array(result).as(DType::f64);
        double largest = 1e-3, difference = 0;
        for (Index i = 0; i < exact.size(); ++i) {
          largest = std::max(largest, std::abs(exact.view<double>()[i]));
          difference = std::max(difference, std::abs(exact.view<double>()[i] - rounded.view<double>()[i]));
        }
        EXPECT_LE(difference, tolerance * largest) << kind.name << ", " << wide.program().array(result).name;
      }
    }
  }
}

TEST(Samples, EveryKernelHasANameOfItsOwnAndACost) {
  std::set<std::string_view> names;
  for (const SampledKernel& sampled : sampled_kernels(DType::f32)) {
    EXPECT_TRUE(names.insert(sampled.kernel->name).second) << sampled.kernel->name;
    EXPECT_GT(sampled.run->cost(sampled.operation, sampled.phase).bytes.value, 0) << sampled.kernel->name;
  }
  for (const OperationKind& kind : operation_kinds()) {
    EXPECT_NE(kind.sample, nullptr) << kind.name;
  }
}

}  // namespace
}  // namespace shardline
