#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/layout/abstract_mesh.h"
#include "runtime/layout/sharding.h"

namespace shardline {

/// An array as it was written: `W_in[D_X, F_Y]{U_Z}`. The axes are those of the text until resolve().
struct ParsedArray {
  std::string name;
  std::vector<std::string> dims;  ///< none for a scalar, `L[]`
  Sharding sharding;
  std::size_t column = 0;  ///< characters before it in the text
};

/// What stands between two factors: `*`, or `*_J` with the dims that are summed over.
struct ParsedTimes {
  std::vector<std::string> summed = {};  ///< none where there is no subscript
  bool local = false;                    ///< `·_LOCAL`: each rank multiplies its blocks, and the sum stays owed
};

/// The collective that stands before the only operand: `AllGather_X(...)`.
struct ParsedCollective {
  std::string name;                         ///< one of collective_names()
  std::vector<std::string> subscript = {};  ///< axes, and maybe then the dim that gets them: `ReduceScatter_{X,J}`
  std::string wire = {};                    ///< of `... over wire hop`
};

/// `A[I, J_X] * B[J_X, K] -> C[I, K]` or `C[I, K] = AllReduce_X(C[I, K]{U_X})`: at least one operand, and the result
/// when the text gives it, before `=` or after an arrow.
struct ParsedProduct {
  std::vector<ParsedArray> operands;
  std::optional<ParsedArray> result;
  std::vector<ParsedTimes> times = {};  ///< between neighbouring operands; none of a product that was not written
  std::optional<ParsedCollective> collective = {};
};

/// AllGather, ReduceScatter, AllReduce, AllReduceMax, AllToAll, Reshard, Slice, Owe.
const std::vector<std::string>& collective_names();

/// Parse one array, or one product or collective, by the grammar of docs/notation.md. Throw UsageError with what is
/// wrong, the text, and a caret under the character at fault.
ParsedArray parse_array(const std::string& text);
ParsedProduct parse_product(const std::string& text);

/// The canonical form, result first: `C[I, K]{U_X} = A[I, J_X] *_J B[J_X, K]`. It parses back to the same thing.
std::string to_string(const ParsedProduct& product);

/// Axes as they were written on a mesh. An axis means the mesh axis of the same name, else that of its name in upper
/// case (`I_x` is sharded over X when there is no x); else it means the axes that its letters name, if all of them do
/// (`I_{XY}` is sharded over X, then Y).
Axes resolve(const Axes& axes, const AbstractMesh& mesh);
/// The array on a mesh. Throws UsageError as validated() does.
ParsedArray resolve(ParsedArray array, const AbstractMesh& mesh);

}  // namespace shardline
