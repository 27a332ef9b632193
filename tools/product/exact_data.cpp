#include "tools/product/exact_data.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardline::tools {
namespace {

/// Whole numbers up to this value are exact; so are all sums below it.
Index exact_up_to(DType dtype) { return dtype == DType::bf16 ? 1 << 8 : 1 << 24; }

}  // namespace

ExactData::ExactData(const ExactDataSpec& spec)
    : values_(spec.seed, fmt::format("values of group {}", spec.group)),
      bases_(spec.seed, fmt::format("sums of group {}", spec.group)),
      positions_(spec.positions),
      largest_(std::min<Index>(exact_up_to(spec.dtype), 1 << 20)),
      largest_base_((exact_up_to(spec.dtype) - 1) / spec.positions) {}

double ExactData::moved(Index position, Index i) const {
  return static_cast<double>(values_.below(i * positions_ + position, 2 * largest_ + 1) - largest_);
}

double ExactData::base(Index i) const {
  return largest_base_ > 0 ? static_cast<double>(1 + bases_.below(i, largest_base_)) : 0;
}

double ExactData::summand(Index position, Index i) const {
  const Index turn = i % positions_;
  const Index next = turn + 1 == positions_ ? 0 : turn + 1;
  return base(i) + (position == turn ? 1 : 0) - (position == next ? 1 : 0);
}

double ExactData::operand(ReduceOp op, Index position, Index i) const {
  return op == ReduceOp::max ? moved(position, i) : summand(position, i);
}

double ExactData::combined(ReduceOp op, Index i) const {
  switch (op) {
    case ReduceOp::sum:
      return static_cast<double>(positions_) * base(i);
    case ReduceOp::avg:
      return base(i);
    case ReduceOp::max:
      break;
  }
  double most = moved(0, i);
  for (Index position = 1; position < positions_; ++position) most = std::max(most, moved(position, i));
  return most;
}

}  // namespace shardline::tools
