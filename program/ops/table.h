#pragma once

#include <map>
#include <string>
#include <vector>

#include "program/ir/program.h"
#include "program/ops/derivative.h"

namespace shardline {

/// A kind of operation that a program can use. It stands in the file of its operation. The
/// operations of a derivative are not kinds.
struct OperationKind {
  std::string_view name;            ///< Operation::kind
  Derivative derivative = nullptr;  ///< null: it has no derivative
  /// Appends the operation on inputs of the sizes of `program`, for calibrations and tests of its kernels and those of
  /// its derivative. Returns the result to differentiate.
  ArrayId (*sample)(Program& program) = nullptr;
  std::map<std::string, Index> sample_sizes = {};  ///< by name of the dim; arrays of up to a megabyte
};

/// All kinds.
const std::vector<OperationKind>& operation_kinds();

/// Throws Error if there is no such kind, or if it has no derivative.
Derivative derivative_of(const std::string& kind);

}  // namespace shardline
