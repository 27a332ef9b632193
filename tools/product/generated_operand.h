#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "program/product/product.h"
#include "runtime/base/counter_rng.h"
#include "runtime/mesh/dist_tensor.h"
#include "tools/product/exact_data.h"

namespace shardline::tools {

/// A product operand of random numbers in [-1, 1). Each element depends on seed, name and global
/// index only, so any rank can make it. If the array is owed, every rank of the owed axes holds a
/// different part. The operand of a conversion has whole numbers instead: their sums and maxima are
/// exact.
class GeneratedOperand {
 public:
  GeneratedOperand(const Product& product, ArrayId array, DType dtype, std::uint64_t seed);

  /// Element `i` (row-major in the logical array) as its dtype stores it. Parts of an owed array
  /// are combined.
  double value(Index i) const;
  /// This rank's block.
  Tensor block(const Mesh& mesh) const;

 private:
  double part(Index i, std::size_t position) const;

  ArraySpec spec_;
  std::size_t parts_;  ///< ranks over the owed axes
  CounterRng values_;
  std::vector<CounterRng> shares_;  ///< by part, if there are several: the values that neighbouring parts exchange
  std::optional<ExactData> exact_;  ///< for a conversion
};

/// All operands of a product, in order.
std::vector<GeneratedOperand> generated_operands(const Product& product, DType dtype, std::uint64_t seed);

}  // namespace shardline::tools
