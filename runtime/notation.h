#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/abstract_mesh.h"
#include "runtime/sharding.h"

namespace shardline {

/// An array as it was written: `W_in[D_X, F_Y]{U_Z}`. The axes are those of the text until resolve().
struct ParsedArray {
  std::string name;
  std::vector<std::string> dims;  ///< none for a scalar, `L[]`
  Sharding sharding;
  std::size_t column = 0;  ///< characters before it in the text
};

/// `A[I, J_X] * B[J_X, K] -> C[I, K]`: at least one operand, and the result when the text gives it.
struct ParsedProduct {
  std::vector<ParsedArray> operands;
  std::optional<ParsedArray> result;
};

/// Parse one array or one product by the grammar of docs/notation.md. Throw UsageError with what is wrong, the text,
/// and a caret under the character at fault.
ParsedArray parse_array(const std::string& text);
ParsedProduct parse_product(const std::string& text);

/// The array on a mesh: an axis means the mesh axis of the same name, else that of its name in upper case (`I_x` is
/// sharded over X when there is no x). Throws UsageError as validated() does.
ParsedArray resolve(ParsedArray array, const AbstractMesh& mesh);

}  // namespace shardline
