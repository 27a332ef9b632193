#pragma once

#include <map>
#include <string>
#include <vector>

#include "program/partition.h"
#include "runtime/notation.h"

namespace shardline {

/// A product of two sharded arrays on a mesh, `A[I, J_X] * B[J_X, K] -> C[I, K]`, with the layouts in which its arrays
/// rest: what the partitioner starts from.
struct Product {
  AbstractMesh mesh;
  Program program;  ///< one einsum; dims that both operands have and the result lacks are summed over
  Declaration declaration;
  ArrayId a = -1;
  ArrayId b = -1;
  ArrayId result = -1;

  const Sharding& sharding(ArrayId array) const { return declaration.layouts.at(array); }
  /// "A[I, J_X] * B[J_X, K] -> C[I, K]"
  std::string to_string() const;
  /// Every way to compute it, best first. Throws Error when there is none.
  std::vector<Candidate> candidates(const ElementTypes& types = {}) const {
    return partition_all(program, mesh, declaration, types);
  }
};

/// Reads "I=1024, J=512"; throws UsageError naming what is not a size, a dim given twice or a size that is not
/// positive.
std::map<std::string, Index> parse_sizes(const std::string& text);

/// Makes the product that was written. Throws UsageError, which names array, dim or axis and what is legal: on another
/// number of operands than two, no result, an array or an axis that occurs twice, an unknown axis, a dim that only one
/// operand has and the result lacks, a dim of the result that no operand has, a dim without a size, a size without a
/// dim, an array too large to count, a debt of maxima, and a debt wanted of the result on an axis on which no operand
/// owes or has a contracted dim.
Product make_product(const ParsedProduct& parsed, const std::map<std::string, Index>& sizes, const AbstractMesh& mesh);

/// Which of the four cases of a sharded product (book section 3) an axis is.
struct AxisCase {
  Axis axis;
  int number = 1;      ///< 1 to 4
  std::string reason;  ///< one clause: what makes it so
};

/// For each axis of the mesh: case 3 where both operands have it on the same contracted dim, else 2 where one has it
/// on a contracted dim, else 4 where it shards a free dim of both, else 1. A free dim is one that only one operand has.
std::vector<AxisCase> cases(const Product& product);

}  // namespace shardline
