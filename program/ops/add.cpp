#include "program/ops/add.h"

#include "kernels/elementwise.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

void run_add(const PhaseBlock&, const KernelArrays& arrays) {
  with_stored(arrays, [](const auto& call) {
    using T = typename std::decay_t<decltype(call)>::Element;
    std::vector<View<const T>> terms;
    for (std::size_t k = 0; k < call.operands(); ++k) terms.push_back(call.in(k));
    kernels::add<T>(terms, call.out(0));
  });
}

kernels::Cost add_cost(const PhaseBlock& block) {
  return kernels::add_cost(static_cast<Index>(block.phase.operands.size()), block.elements(0), block.element_size());
}

constexpr Kernel kAdd{.name = "add",
                      .run = run_add,
                      .cost = add_cost,
                      .form = KernelForm::sum,
                      .types = KernelTypes::stored,
                      .strips = true};

void differentiate_add(Gradients& gradients, const Operation& forward, ArrayId upstream) {
  for (const ArrayId operand : forward.operands) {
    if (gradients.needed(operand)) gradients.give(operand, upstream);
  }
}

ArrayId sample_add(Program& program) {
  const ArrayId a = program.add_input("a", {"I", "J"}, Role::activation);
  const ArrayId b = program.add_input("b", {"I", "J"}, Role::activation);
  return add(program, "y", {a, b});
}

}  // namespace

void add_into(Program& program, const std::vector<ArrayId>& terms, ArrayId result) {
  Builder(program, "add").phase(kAdd, terms, {result}).linear_in(terms).append(terms, {result});
}

ArrayId add(Program& program, const std::string& name, const std::vector<ArrayId>& terms, Role role) {
  const ArrayId result = add_like(program, name, terms.at(0), role);
  add_into(program, terms, result);
  return result;
}

OperationKind add_kind() {
  return {
      .name = "add", .derivative = differentiate_add, .sample = sample_add, .sample_sizes = {{"I", 64}, {"J", 512}}};
}

}  // namespace shardline
