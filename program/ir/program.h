#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/einsum/einsum.h"
#include "program/ir/kernel.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/shape.h"

namespace shardline {

using ArrayId = int;
/// One index of an operation per dim of an operand or result.
using kernels::Subscripts;

/// The purpose of an array. The strategy table gives shardings by role.
enum class Role : std::uint8_t {
  parameter,  ///< as operations read it
  master,     ///< a parameter of the state, from which each step casts the array of role parameter
  gradient,   ///< of Array::primal
  optimizer_state,
  sum,         ///< over the micro-batches of a step: of parts of the gradient of Array::primal, or of the loss
  stream,      ///< the residual stream; between layers it has a declared sharding
  tokens,      ///< i32 of each token: ids, labels and the begins of documents
  positions,   ///< i32 that every rank holds whole: where tokens, or the places of a cache, stand in their sequence
  cache,       ///< keys or values of the tokens so far; state that is written in place
  whole,       ///< scalars that every rank holds
  activation,  ///< anything else; its layout follows from the operation that makes it
};

/// A logical array: named dims of given size, no layout.
struct Array {
  std::string name;
  std::vector<std::string> dims;
  Shape shape;
  Role role = Role::activation;
  DType dtype = DType::f32;
  ArrayId primal = -1;              ///< the array whose gradient, or sum of gradients, this is; or -1
  ReduceOp reduce = ReduceOp::sum;  ///< how partial results combine
  ArrayId repeats = -1;             ///< the array that this one is computed again from (see rematerialise()), or -1
  /// i32 array of the two leading dims: of each position the first so many places along the next dim are in use, and
  /// nothing depends on what the others hold. -1: all are in use.
  ArrayId rows = -1;
  double rows_share = 1;  ///< the share of the places that is expected to be in use; prices count it
};

/// One kernel call of an operation. Between phases, small arrays may need a reduction.
struct Phase {
  const Kernel* kernel = nullptr;
  std::vector<ArrayId> operands;
  std::vector<Subscripts> operand_subscripts;
  std::vector<ArrayId> results;
  std::vector<Subscripts> result_subscripts;
};

enum class Pass : std::uint8_t { forward, backward, update };

/// The place of an operation in the program. A gathered copy is reused only in the region that made
/// it, unless the policy keeps it.
struct Region {
  Pass pass = Pass::forward;
  int layer = 0;
  int micro_batch = 0;  ///< in a program that runs several (see write_out())
  bool operator==(const Region&) const = default;
};

/// One operation on logical arrays. In it every mesh axis does exactly one thing: it splits one
/// index, splits none, or carries a debt (a sum or maximum still owed).
struct Operation {
  std::string kind;                  ///< "einsum", "rms_norm", ...
  std::vector<std::string> indices;  ///< names, by number
  Shape extents;                     ///< logical size of each index
  std::vector<bool> whole;           ///< indices that no axis may split
  std::vector<Phase> phases;
  std::vector<ArrayId> operands;  ///< arrays from outside the operation, in order
  std::vector<ArrayId> results;   ///< arrays that later operations may read
  /// Groups of arrays (operands, and arrays between phases) in which the results are jointly
  /// linear. A debt passes to the results if every member of the group owes it.
  std::vector<std::vector<ArrayId>> linear;
  std::map<std::string, double> constants;  ///< by name, such as "epsilon"; read by its kernels
  Region region;

  /// The number of the index of this name, or -1.
  int index_named(std::string_view name) const;
};

/// Operations on logical arrays, in order. A program has no mesh and no layout.
struct Program {
  std::map<std::string, Index> sizes;  ///< size of each named dim
  std::vector<Array> arrays;
  std::vector<Operation> operations;
  std::vector<ArrayId> inputs;
  std::vector<ArrayId> outputs;
  /// State from one run to the next: after a run `second` replaces the input `first`.
  std::vector<std::pair<ArrayId, ArrayId>> updates;
  Region region;  ///< given to operations as they are added
  /// Given to arrays as they are added. Tokens and positions are i32, and scalars that every rank holds are of its
  /// sum_type().
  DType dtype = DType::f32;

  const Array& array(ArrayId id) const { return arrays.at(static_cast<std::size_t>(id)); }
  Array& array(ArrayId id) { return arrays.at(static_cast<std::size_t>(id)); }
  /// The array of this name. Throws Error if there is none.
  ArrayId find(const std::string& name) const;
  /// Adds an array; `sizes` give its shape. Throws UsageError with array and dim if a size is
  /// missing.
  ArrayId add_array(const std::string& name, const std::vector<std::string>& dims, Role role = Role::activation);
  /// add_array() for an input of the program.
  ArrayId add_input(const std::string& name, const std::vector<std::string>& dims, Role role);
};

/// Removes operations whose results no output and no update needs. An array that is needed needs its Array::rows.
void prune(Program& program);

/// An array's name and dims without layout: "W_in[D, F]".
std::string to_string(const Array& array);

}  // namespace shardline
