#include "program/transform/samples.h"

#include <algorithm>
#include <set>

#include "program/ops/builder.h"
#include "program/ops/einsum.h"
#include "program/ops/run_phase.h"
#include "program/ops/table.h"
#include "program/transform/differentiate.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"

namespace shardline {
namespace {

const OperationKind& kind_named(const std::string& name) {
  for (const OperationKind& kind : operation_kinds()) {
    if (kind.name == name) return kind;
  }
  throw Error("there is no operation " + name);
}

/// Appends the derivative for every floating-point input from number `first` on.
void append_derivative(Program& program, ArrayId result, std::size_t first = 0) {
  std::vector<ArrayId> wanted;
  for (std::size_t i = first; i < program.inputs.size(); ++i) {
    if (!is_integer(program.array(program.inputs[i]).dtype)) wanted.push_back(program.inputs[i]);
  }
  const ArrayId seed = add_like(program, "d" + program.array(result).name, result, Role::gradient);
  program.inputs.push_back(seed);
  differentiate(program, {{result, seed}}, wanted);
}

/// Different numbers between 0 and 1. A scalar lies between 1 and 2, because it may be a step
/// count.
Tensor numbers(const Array& array) {
  const CounterRng rng(1, array.name);
  Tensor values(DType::f64, array.shape);
  View<double> view = values.view<double>();
  for (Index i = 0; i < view.size(); ++i) view.data[i] = rng.uniform(i) + (array.dims.empty() ? 1 : 0);
  return values.as(array.dtype);
}

Tensor ids(const Array& array, Index limit) {
  Tensor values(DType::i32, array.shape);
  View<std::int32_t> view = values.view<std::int32_t>();
  for (Index i = 0; i < view.size(); ++i) view.data[i] = static_cast<std::int32_t>((i * 37) % limit);
  return values;
}

/// Positions 0, 1, 2, ... of an array of one dim; of each sequence the last positions of a cache with `places`.
Tensor in_order(const Shape& shape, Index places) {
  const Index tokens = shape.back(), first = shape.size() > 1 ? places - tokens : 0;
  Tensor values(DType::i32, shape);
  const View<std::int32_t> view = values.view<std::int32_t>();
  for (Index i = 0; i < view.size(); ++i) view[i] = static_cast<std::int32_t>(first + i % tokens);
  return values;
}

/// The value of an input of a sample.
Tensor value_of(const Program& program, ArrayId input) {
  const Array& array = program.array(input);
  if (array.role == Role::positions) {
    const auto places = program.sizes.find("S");
    return in_order(array.shape, places == program.sizes.end() ? array.shape.back() : places->second);
  }
  return array.role == Role::tokens ? ids(array, program.sizes.at("V")) : numbers(array);
}

}  // namespace

SampleRun::SampleRun(const std::string& kind, DType dtype) {
  program_.dtype = dtype;
  const OperationKind& row = kind_named(kind);
  program_.sizes = row.sample_sizes;
  result_ = row.sample(program_);
  if (row.derivative != nullptr) append_derivative(program_, result_);
  const std::set<ArrayId> inputs(program_.inputs.begin(), program_.inputs.end());
  for (ArrayId id = 0; id < static_cast<ArrayId>(program_.arrays.size()); ++id) {
    const Array& array = program_.array(id);
    arrays_.push_back(inputs.contains(id) ? value_of(program_, id) : Tensor::zeros(array.dtype, array.shape));
  }
  for (const Operation& operation : program_.operations) {
    std::vector<Range> whole;
    for (const Index extent : operation.extents) whole.push_back({0, extent});
    ranges_.push_back(std::move(whole));
  }
}

void SampleRun::run(std::size_t operation, std::size_t phase) {
  const Operation& op = program_.operations.at(operation);
  std::vector<const Tensor*> operands;
  std::vector<Tensor*> results;
  for (const ArrayId id : op.phases.at(phase).operands) operands.push_back(&arrays_[static_cast<std::size_t>(id)]);
  for (const ArrayId id : op.phases.at(phase).results) results.push_back(&arrays_[static_cast<std::size_t>(id)]);
  run_phase(program_, op, phase, ranges_[operation], operands, results);
}

void SampleRun::run_all() {
  for (std::size_t i = 0; i < program_.operations.size(); ++i) {
    for (std::size_t p = 0; p < program_.operations[i].phases.size(); ++p) run(i, p);
  }
}

kernels::Cost SampleRun::cost(std::size_t operation, std::size_t phase) const {
  return phase_cost(program_, program_.operations.at(operation), phase, ranges_[operation]);
}

std::vector<SampledKernel> sampled_kernels(DType dtype) {
  std::vector<SampledKernel> sampled;
  std::set<const Kernel*> known;
  for (const OperationKind& kind : operation_kinds()) {
    const auto run = std::make_shared<SampleRun>(std::string(kind.name), dtype);
    run->run_all();  // so every kernel is timed on arrays that its operation made
    const std::vector<Operation>& operations = run->program().operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      for (std::size_t p = 0; p < operations[i].phases.size(); ++p) {
        const Kernel* kernel = operations[i].phases[p].kernel;
        if (known.insert(kernel).second) sampled.push_back({kernel, run, i, p});
      }
    }
  }
  return sampled;
}

SampleProgram sample_program(int times, Index product, DType dtype) {
  constexpr Index kPart = 32;  // of each dim of the samples
  SampleProgram sample;
  Program& program = sample.program;
  program.dtype = dtype;
  const auto append = [&](const OperationKind& kind) {
    const std::size_t first = program.inputs.size();
    program.sizes = kind.sample_sizes;
    for (auto& [dim, extent] : program.sizes) extent = std::max<Index>(1, extent / kPart);
    const ArrayId result = kind.sample(program);
    if (kind.derivative != nullptr) append_derivative(program, result, first);
    for (std::size_t i = first; i < program.inputs.size(); ++i) {
      sample.inputs[program.inputs[i]] = value_of(program, program.inputs[i]);
    }
  };
  const OperationKind multiply{
      .name = "einsum",
      .derivative = derivative_of("einsum"),
      .sample =
          [](Program& p) {
            const ArrayId a = p.add_input("a", {"I", "J"}, Role::activation);
            const ArrayId b = p.add_input("b", {"J", "K"}, Role::activation);
            return einsum(p, "c", {a, b}, {"I", "K"});
          },
      .sample_sizes = {{"I", kPart * product}, {"J", kPart * product}, {"K", kPart * product}}};
  for (int i = 0; i < times; ++i) {
    for (const OperationKind& kind : operation_kinds()) append(kind);
    append(multiply);
  }
  program.outputs = program.operations.back().results;
  for (const auto& [before, after] : program.updates) program.outputs.push_back(after);
  return sample;
}

}  // namespace shardline
