#pragma once

#include <map>
#include <string>
#include <vector>

#include "program/partition/partition.h"
#include "runtime/layout/notation.h"

namespace shardline {

/// The element types of a product.
struct ProductTypes {
  DType operands = DType::f32;  ///< as stored
  DType products = DType::f32;  ///< as computed and reduced
};

/// Those of CPUs for operands in `dtype`: bf16 operands are multiplied, and their products reduced, in f32.
ProductTypes cpu_types(DType dtype);

/// A product of sharded arrays on a mesh, `A[I, J_X] * B[J_X, K] -> C[I, K]`, with the layouts in which its arrays
/// rest: what the partitioner starts from. More than two operands are multiplied from left to right. A product of one
/// operand is a conversion, `A[I_X, J] -> A[I, J]`: nothing is computed, and the result is the operand.
struct Product {
  AbstractMesh mesh;
  Program program;  ///< a chain of einsums of two operands each; what they make on the way is called T1, T2, ...
  Declaration declaration;
  std::vector<ArrayId> operands;  ///< as written
  ArrayId result = -1;
  std::string wire = {};  ///< that was written for the reduction of a conversion, `... over wire hop`

  bool converts() const { return program.operations.empty(); }
  /// In which it is computed.
  DType dtype() const { return program.dtype; }
  /// Of an operand.
  const Sharding& sharding(ArrayId array) const { return declaration.layouts.at(array); }
  const Sharding& result_sharding() const { return converts() ? declaration.wanted.at(result) : sharding(result); }
  /// "A[I, J_X] * B[J_X, K] -> C[I, K]"
  std::string to_string() const;
  /// Ways to compute it, best first, see partition_all(). Throws Error when there is none, and UsageError when a
  /// reduction goes over another wire than was written.
  std::vector<Candidate> candidates(const roofline::Hardware& hardware) const;
};

/// Reads "I=1024, J=512"; throws UsageError naming what is not a size, a dim given twice or a size that is not
/// positive.
std::map<std::string, Index> parse_sizes(const std::string& text);

/// Makes the product or conversion that was written; chain_dims() tells which dims its arrays on the way have. One
/// operand without a result stays as it is. Throws UsageError, which names array, dim or axis and what is legal: on no
/// result of several operands, an array or an axis that occurs twice, an unknown axis, a conversion to another name or
/// other dims, a collective that does not make its result, a subscript of `*` that is not what the product sums over, a
/// dim that only one operand has and the result lacks, a dim of the result that no operand has, a dim without a size, a
/// size without a dim, an array too large to count, a chain that can be read in two ways, a product with a debt of
/// maxima, and a debt wanted of the result on an axis on which no operand owes or has a contracted dim.
Product make_product(const ParsedProduct& parsed, const std::map<std::string, Index>& sizes, const AbstractMesh& mesh,
                     const ProductTypes& types = {});

/// Which of the four cases of a sharded product (book section 3) an axis is.
struct AxisCase {
  Axis axis;
  int number = 1;          ///< 1 to 4
  std::string reason;      ///< one clause: what makes it so
  std::string makes = {};  ///< of a chain: the array that the product makes; empty for a product of two operands
};

/// For each product of two factors and each axis of the mesh: case 3 where both factors have it on the same contracted
/// dim, else 2 where one has it on a contracted dim, else 4 where it shards a free dim of both, else 1. A free dim is
/// one that only one factor has. Operands count as they are stored, an array on the way as `program` makes it.
std::vector<AxisCase> cases(const Product& product, const RankProgram& program);

}  // namespace shardline
