#pragma once

#include "runtime/layout/tensor.h"
#include "runtime/mesh/mesh.h"
#include "tools/product/generated_operand.h"

namespace shardline::tools {

/// The distance of a product from the dense one.
struct Accuracy {
  double max_error = 0;  ///< largest |ours - dense|; infinite if an element of ours is not finite
  double max_value = 0;  ///< largest |dense|
  double relative() const { return max_error == 0 ? 0 : max_error / max_value; }
};

/// Compares this rank's block of the result with a product in f64 from the definition of the
/// operands. It uses neither the partitioner nor the collectives, and works tile by tile, so no
/// operand is ever whole in memory. In a chain every rank makes the arrays between products in
/// full. The result of a conversion is its operand. An owed result is summed first. Collective over
/// `mesh`; every rank returns the maxima over all ranks.
Accuracy check_against_dense(const Product& product, const std::vector<GeneratedOperand>& operands,
                             const Tensor& result, const Mesh& mesh);

/// The most memory of the check on one rank.
Bytes memory_of_check(const Product& product, DType dtype);

}  // namespace shardline::tools
