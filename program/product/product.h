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

/// The types on CPUs, for operands in `dtype`. bf16 operands are multiplied, and their products reduced, in f32.
ProductTypes cpu_types(DType dtype);

/// A product of sharded arrays on a mesh, `A[I, J_X] * B[J_X, K] -> C[I, K]`, with the layouts of
/// its arrays: the input of the partitioner. More than two operands are multiplied from left to
/// right. A product of one operand is a conversion, `A[I_X, J] -> A[I, J]`: it computes nothing,
/// and the result is the operand.
struct Product {
  AbstractMesh mesh;
  Program program;  ///< a chain of einsums of two operands each; the arrays between them are T1, T2, ...
  Declaration declaration;
  std::vector<ArrayId> operands;  ///< as written
  ArrayId result = -1;
  std::string wire = {};  ///< the wire in the text of a conversion's reduction, `... over wire hop`

  bool converts() const { return program.operations.empty(); }
  /// The element type of the products.
  DType dtype() const { return program.dtype; }
  /// The sharding of an operand.
  const Sharding& sharding(ArrayId array) const { return declaration.layouts.at(array); }
  const Sharding& result_sharding() const { return converts() ? declaration.wanted.at(result) : sharding(result); }
  /// "A[I, J_X] * B[J_X, K] -> C[I, K]"
  std::string to_string() const;
  /// Ways to compute it, best first, see partition_all(). Throws Error if there is none. Throws
  /// UsageError if a reduction uses another wire than the text says.
  std::vector<Candidate> candidates(const roofline::Hardware& hardware) const;
};

/// Reads "I=1024, J=512". Throws UsageError with the item for: no size, a repeated dim, a size that
/// is not positive.
std::map<std::string, Index> parse_sizes(const std::string& text);

/// Makes the product or conversion of the text. chain_dims() gives the dims of the arrays between
/// products. One operand without a result stays as it is. Throws UsageError with array, dim or
/// axis, and what is legal, for: several operands without a result; a repeated array or axis; an
/// unknown axis; a conversion to another name or other dims; a collective that does not make its
/// result; a subscript of `*` that the product does not sum over; a dim of one operand only that
/// the result lacks; a dim of the result in no operand; a dim without a size, or a size without a
/// dim; an array too large to count; a chain with two readings; a product with a debt of maxima; a
/// result that owes on an axis on which no operand owes or has a contracted dim.
Product make_product(const ParsedProduct& parsed, const std::map<std::string, Index>& sizes, const AbstractMesh& mesh,
                     const ProductTypes& types = {});

/// Which of the four cases of a sharded product (book section 3) holds for an axis.
struct AxisCase {
  Axis axis;
  int number = 1;          ///< 1 to 4
  std::string reason;      ///< one clause with the reason
  std::string makes = {};  ///< in a chain: the result of the product; empty for two operands
};

/// One case per product of two factors and per mesh axis. Case 3: the axis shards the same
/// contracted dim of both factors. Case 2: it shards a contracted dim of one. Case 4: it shards a
/// free dim of both, that is a dim of one factor only. Else case 1. Operands count with their
/// stored layout, arrays between products with their layout in `program`.
std::vector<AxisCase> cases(const Product& product, const RankProgram& program);

/// The element types of a product with operands stored in `dtype`. bf16 operands are multiplied in
/// f32, and their products are reduced in f32.
}  // namespace shardline
