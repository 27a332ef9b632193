#include "program/ops/cast.h"

#include "kernels/support/lanes.h"
#include "program/ops/builder.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// One read and one write of every element, each in its own type.
kernels::Cost cast_cost(const PhaseBlock& block) {
  return {Flops(0), Bytes(static_cast<double>(block.elements(0) * (block.operand_size(0) + block.element_size())))};
}

/// Between bf16 and f32, the casts of training: through lanes, which the compiler vectorises.
template <class From, class To>
void cast_lanes(View<const From> from, View<To> to) {
  kernels::for_lanes(from.size(), [&](Index begin, auto count) {
    kernels::store(kernels::load(from.data + begin, count), to.data + begin, count);
  });
}

void run_cast(const PhaseBlock&, const KernelArrays& arrays) {
  const Tensor& from = *arrays.operands[0];
  Tensor& to = *arrays.results[0];
  if (from.dtype() == DType::f32 && to.dtype() == DType::bf16) {
    cast_lanes(from.view<float>(), to.view<BFloat16>());
  } else if (from.dtype() == DType::bf16 && to.dtype() == DType::f32) {
    cast_lanes(from.view<BFloat16>(), to.view<float>());
  } else {
    convert(from, to);
  }
}

constexpr Kernel kCast{
    .name = "cast",
    .run = run_cast,
    .cost = cast_cost,
    .types = KernelTypes::any,
    .strips = true,
};

void cast_into(Program& program, ArrayId x, ArrayId result) {
  Builder(program, "cast").phase(kCast, {x}, {result}).linear_in({x}).append({x}, {result});
}

void differentiate_cast(Gradients& gradients, const Operation& forward, ArrayId upstream) {
  const ArrayId x = forward.operands[0];
  if (!gradients.needed(x)) return;
  const ArrayId made = gradients.contribution(x);
  cast_into(gradients.program(), upstream, made);
  gradients.give(x, made);
}

/// f32 to bf16, the cast of training in bf16. In f64 a cast to f64: rounding would hide the derivative.
ArrayId sample_cast(Program& program) {
  const ArrayId x = program.add_input("x", {"I", "J"}, Role::activation);
  program.array(x).dtype = sum_type(program.dtype);
  return cast(program, "y", x, program.dtype == DType::f64 ? DType::f64 : DType::bf16);
}

}  // namespace

ArrayId cast(Program& program, const std::string& name, ArrayId x, DType dtype) {
  require(!is_integer(dtype) && !is_integer(program.array(x).dtype), "cast: {} in {} does not convert to {}",
          to_string(program.array(x)), name_of(program.array(x).dtype), name_of(dtype));
  const ArrayId result = add_like(program, name, x);
  program.array(result).dtype = dtype;
  cast_into(program, x, result);
  return result;
}

OperationKind cast_kind() {
  return {
      .name = "cast", .derivative = differentiate_cast, .sample = sample_cast, .sample_sizes = {{"I", 64}, {"J", 512}}};
}

}  // namespace shardline
