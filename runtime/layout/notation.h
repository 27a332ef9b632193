#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/layout/abstract_mesh.h"
#include "runtime/layout/sharding.h"

namespace shardline {

/// An array as written: `W_in[D_X, F_Y]{U_Z}`. Until resolve() its axes are those of the text.
struct ParsedArray {
  std::string name;
  std::vector<std::string> dims;  ///< none for a scalar, `L[]`
  Sharding sharding;
  std::size_t column = 0;  ///< characters before it in the text
};

/// The sign between two factors: `*`, or `*_J` with the dims to sum over.
struct ParsedTimes {
  std::vector<std::string> summed = {};  ///< empty if there is no subscript
  bool local = false;                    ///< `·_LOCAL`: each rank multiplies its blocks; the sum is still owed
};

/// The collective around a single operand: `AllGather_X(...)`.
struct ParsedCollective {
  std::string name;                         ///< one of collective_names()
  std::vector<std::string> subscript = {};  ///< axes, then maybe the dim that gets them: `ReduceScatter_{X,J}`
  std::string wire = {};                    ///< from `... over wire hop`
};

/// `A[I, J_X] * B[J_X, K] -> C[I, K]` or `C[I, K] = AllReduce_X(C[I, K]{U_X})`. It has at least one
/// operand. The result is optional: before `=` or after an arrow.
struct ParsedProduct {
  std::vector<ParsedArray> operands;
  std::optional<ParsedArray> result;
  std::vector<ParsedTimes> times = {};  ///< between neighbouring operands; empty if the product was not written as text
  std::optional<ParsedCollective> collective = {};
};

/// AllGather, ReduceScatter, AllReduce, AllReduceMax, AllToAll, Reshard, Slice, Owe.
const std::vector<std::string>& collective_names();

/// Parse one array, or one product or collective. docs/notation.md has the grammar. Throw
/// UsageError with the fault, the text, and a caret under the character at fault.
ParsedArray parse_array(const std::string& text);
ParsedProduct parse_product(const std::string& text);

/// The canonical form, result first: `C[I, K]{U_X} = A[I, J_X] *_J B[J_X, K]`. It parses back to
/// the same product.
std::string to_string(const ParsedProduct& product);

/// Maps axes as written to axes of a mesh. First choice: the mesh axis with the same name. Second:
/// the mesh axis with the name in upper case (`I_x` is sharded over X if there is no x). Third: one
/// axis per letter, if the mesh has them all (`I_{XY}` is sharded over X, then Y).
Axes resolve(const Axes& axes, const AbstractMesh& mesh);
/// The array on a mesh. Throws UsageError as validated() does.
ParsedArray resolve(ParsedArray array, const AbstractMesh& mesh);

}  // namespace shardline
