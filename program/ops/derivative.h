#pragma once

#include <vector>

#include "program/ir/program.h"

namespace shardline {

/// A derivative uses it to make arrays for its contributions to the gradients of operands.
class Gradients {
 public:
  virtual ~Gradients() = default;
  virtual Program& program() = 0;
  /// True if somebody asked for the gradient of `array`, or if it passes through.
  virtual bool needed(ArrayId array) const = 0;
  /// A new array for the next contribution to the gradient of `array`.
  virtual ArrayId contribution(ArrayId array) = 0;
  /// Adds a contribution: `gradient` is a written contribution(), or another array such as the
  /// upstream gradient.
  virtual void give(ArrayId array, ArrayId gradient) = 0;

  /// contribution() for each of `arrays`, in order.
  std::vector<ArrayId> contributions(const std::vector<ArrayId>& arrays);
  /// give() for each, last one first.
  void give_all(const std::vector<ArrayId>& arrays, const std::vector<ArrayId>& made);
};

/// Appends the operations of a derivative. `upstream` is the gradient of the first result of
/// `forward`; each operand gets its contribution. `forward` is a copy, because appending moves the
/// operations of the program.
using Derivative = void (*)(Gradients& gradients, const Operation& forward, ArrayId upstream);

}  // namespace shardline
