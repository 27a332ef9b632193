#pragma once

#include <string>
#include <vector>

#include "program/ir/program.h"
#include "program/ops/derivative.h"

namespace shardline {

/// A kind of operation that a program can be built of; it stands in the file of the operation. The operations of its
/// derivative are no kinds of their own.
struct OperationKind {
  std::string_view name;            ///< Operation::kind
  Derivative derivative = nullptr;  ///< null: it has none
  /// Appends the operation on inputs of a size at which calibration measures and tests check its kernels and those of
  /// its derivative; returns the result to differentiate.
  ArrayId (*sample)(Program& program) = nullptr;
};

/// Every kind there is.
const std::vector<OperationKind>& operation_kinds();

/// Throws Error when there is no such kind or it has no derivative.
Derivative derivative_of(const std::string& kind);

}  // namespace shardline
