#pragma once

#include "runtime/layout/tensor.h"
#include "runtime/mesh/mesh.h"
#include "tools/product/generated_operand.h"

namespace shardline::tools {

/// How far a product lies from the dense one.
struct Accuracy {
  double max_error = 0;  ///< largest |ours - dense|; infinite when an element of ours is not finite
  double max_value = 0;  ///< largest |dense|
  double relative() const { return max_error == 0 ? 0 : max_error / max_value; }
};

/// Compares this rank's block of the result with a product in f64 that it computes from the operands' definition:
/// without the partitioner and the collectives, tile by tile, so that no operand is ever held whole. Of a chain every
/// rank makes the arrays on the way in full; the result of a conversion is its operand. An owed result is summed up
/// first. Collective over `mesh`; every rank returns the extremes of all.
Accuracy check_against_dense(const Product& product, const std::vector<GeneratedOperand>& operands,
                             const Tensor& result, const Mesh& mesh);

/// Memory that the check takes on one rank, at most.
Bytes memory_of_check(const Product& product, DType dtype);

}  // namespace shardline::tools
