#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "program/product/product.h"
#include "runtime/base/counter_rng.h"
#include "runtime/mesh/dist_tensor.h"
#include "tools/product/exact_data.h"

namespace shardline::tools {

/// An operand of a product made of random numbers in [-1, 1): each element follows from seed, name and global index, so
/// that any rank can make any of them. Where the array is owed, every rank of the owed axes holds another part. The
/// only operand of a conversion has whole numbers instead, of which sums and maxima are exact.
class GeneratedOperand {
 public:
  GeneratedOperand(const Product& product, ArrayId array, DType dtype, std::uint64_t seed);

  /// Element `i` (row-major in the logical array) as its dtype stores it, the parts of an owed one put together.
  double value(Index i) const;
  /// This rank's block.
  Tensor block(const Mesh& mesh) const;

 private:
  double part(Index i, std::size_t position) const;

  ArraySpec spec_;
  std::size_t parts_;  ///< ranks over the owed axes
  CounterRng values_;
  std::vector<CounterRng> shares_;  ///< by part, when there are several: what neighbouring parts pass to each other
  std::optional<ExactData> exact_;  ///< of a conversion
};

/// All operands of a product, in order.
std::vector<GeneratedOperand> generated_operands(const Product& product, DType dtype, std::uint64_t seed);

}  // namespace shardline::tools
