#include "tools/product/generated_operand.h"

namespace shardline::tools {
namespace {

double between_minus_one_and_one(const CounterRng& rng, Index i) { return 2 * rng.uniform(i) - 1; }

double as_stored(double value, DType dtype) {
  if (dtype == DType::f64) return value;
  const auto single = static_cast<float>(value);
  return static_cast<double>(dtype == DType::bf16 ? static_cast<float>(BFloat16(single)) : single);
}

}  // namespace

GeneratedOperand::GeneratedOperand(const Product& product, ArrayId array, DType dtype, std::uint64_t seed)
    : spec_{product.program.array(array).name, product.program.array(array).dims, product.program.array(array).shape,
            product.sharding(array), dtype},
      parts_(static_cast<std::size_t>(product.mesh.size(spec_.sharding.unreduced))),
      values_(seed, spec_.name) {
  for (std::size_t q = 0; parts_ > 1 && q < parts_; ++q)
    shares_.emplace_back(seed, fmt::format("{} part {}", spec_.name, q));
  if (product.converts()) {
    exact_.emplace(ExactDataSpec{.seed = seed, .positions = static_cast<Index>(parts_), .dtype = dtype});
  }
}

double GeneratedOperand::part(Index i, std::size_t position) const {
  if (exact_) return exact_->operand(spec_.sharding.reduce, static_cast<Index>(position), i);
  double part = position == 0 ? between_minus_one_and_one(values_, i) : 0;
  if (parts_ > 1) {
    part += between_minus_one_and_one(shares_[position], i);
    part -= between_minus_one_and_one(shares_[(position + 1) % parts_], i);
  }
  return as_stored(part, spec_.dtype);
}

double GeneratedOperand::value(Index i) const {
  if (exact_) return exact_->combined(spec_.sharding.reduce, i);
  double sum = 0;
  for (std::size_t q = 0; q < parts_; ++q) sum += part(i, q);
  return sum;
}

Tensor GeneratedOperand::block(const Mesh& mesh) const {
  const Index position = mesh.axes().position_in_group(mesh.rank(), spec_.sharding.unreduced);
  ArraySpec spec = spec_;
  spec.sharding.unreduced.clear();  // every part has its own elements
  return DistTensor::make(mesh, spec, [&](Index i) { return part(i, static_cast<std::size_t>(position)); }).local();
}

std::vector<GeneratedOperand> generated_operands(const Product& product, DType dtype, std::uint64_t seed) {
  std::vector<GeneratedOperand> operands;
  for (const ArrayId operand : product.operands) operands.emplace_back(product, operand, dtype, seed);
  return operands;
}

}  // namespace shardline::tools
