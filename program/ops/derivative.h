#pragma once

#include <vector>

#include "program/ir/program.h"

namespace shardline {

/// What the derivative of an operation is written with: arrays for the contributions to its operands' gradients.
class Gradients {
 public:
  virtual ~Gradients() = default;
  virtual Program& program() = 0;
  /// True when a gradient of `array` is asked for, or passed through.
  virtual bool needed(ArrayId array) const = 0;
  /// A new array for the next contribution to the gradient of `array`.
  virtual ArrayId contribution(ArrayId array) = 0;
  /// The contribution has been written; or `gradient`, an array of another's, is itself the contribution.
  virtual void give(ArrayId array, ArrayId gradient) = 0;

  /// contribution() for each of `arrays`, in order.
  std::vector<ArrayId> contributions(const std::vector<ArrayId>& arrays);
  /// give() for each, the last first.
  void give_all(const std::vector<ArrayId>& arrays, const std::vector<ArrayId>& made);
};

/// Appends the operations of a derivative: what `upstream`, the gradient of the first result of `forward`, gives to
/// each operand. `forward` is a copy: appending moves the program's own.
using Derivative = void (*)(Gradients& gradients, const Operation& forward, ArrayId upstream);

}  // namespace shardline
