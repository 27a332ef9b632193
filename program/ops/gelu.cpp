#include "program/ops/gelu.h"

#include "kernels/support/activation.h"
#include "kernels/support/rows.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

using kernels::Lanes;

template <class T>
void gelu_elements(View<const T> x, View<T> y) {
  const Index size = y.size();
  kernels::check_elements("gelu", "x", x.shape, size);
  kernels::for_lanes(size, [&](Index begin, auto count) {
    const Lanes<SumOf<T>> value = kernels::load(x.data + begin, count);
    kernels::store(value * kernels::gelu_sigmoid<SumOf<T>>(value), y.data + begin, count);
  });
}

template <class T>
void gelu_grad_elements(View<const T> dy, View<const T> x, View<T> dx) {
  const Index size = dx.size();
  kernels::check_elements("gelu_grad", "dy", dy.shape, size);
  kernels::check_elements("gelu_grad", "x", x.shape, size);
  kernels::for_lanes(size, [&](Index begin, auto count) {
    const Lanes<SumOf<T>> value = kernels::load(x.data + begin, count);
    const Lanes<SumOf<T>> slope = kernels::gelu_slope<SumOf<T>>(value, kernels::gelu_sigmoid<SumOf<T>>(value));
    kernels::store(kernels::load(dy.data + begin, count) * slope, dx.data + begin, count);
  });
}

constexpr Kernel kGelu{
    .name = "gelu",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) { gelu_elements(call.in(0), call.out(0)); });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::elementwise_cost(10, 2, block.elements(0), block.element_size());
        },
    .types = KernelTypes::stored,
    .strips = true,
};

constexpr Kernel kGeluGrad{
    .name = "gelu_grad",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) { gelu_grad_elements(call.in(0), call.in(1), call.out(0)); });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::elementwise_cost(18, 3, block.elements(0), block.element_size());
        },
    .types = KernelTypes::stored,
    .strips = true,
};

void differentiate_gelu(Gradients& gradients, const Operation& forward, ArrayId dy) {
  const ArrayId x = forward.operands[0];
  const ArrayId dx = gradients.contribution(x);
  Builder(gradients.program(), "gelu_grad").phase(kGeluGrad, {dy, x}, {dx}).linear_in({dy}).append({dy, x}, {dx});
  gradients.give(x, dx);
}

ArrayId sample_gelu(Program& program) {
  return gelu(program, "y", program.add_input("x", {"I", "J"}, Role::activation));
}

}  // namespace

ArrayId gelu(Program& program, const std::string& name, ArrayId x) {
  const ArrayId y = add_like(program, name, x);
  Builder(program, "gelu").phase(kGelu, {x}, {y}).append({x}, {y});
  return y;
}

OperationKind gelu_kind() {
  return {
      .name = "gelu", .derivative = differentiate_gelu, .sample = sample_gelu, .sample_sizes = {{"I", 64}, {"J", 512}}};
}

}  // namespace shardline
