#pragma once

#include <compare>
#include <map>
#include <tuple>
#include <vector>

#include "program/ir/rank_program.h"

namespace shardline {

/// One step from one layout to another.
struct Conversion {
  StepKind kind = StepKind::slice;
  Axes axes;  ///< major first
  int from_dim = -1;
  int to_dim = -1;
  Sharding result;
};

/// The cost of a conversion: elements that leave the busiest rank, then the number of steps.
struct ConversionCost {
  Index wire = 0;
  int steps = 0;
  auto operator<=>(const ConversionCost&) const = default;
  ConversionCost& operator+=(const ConversionCost& other) {
    wire += other.wire;
    steps += other.steps;
    return *this;
  }
};

struct ConversionPath {
  ConversionCost cost;
  std::vector<Conversion> steps;
  bool possible = true;
};

/// Finds the cheapest steps between two layouts of an array. It gathers or appends only the minor
/// axis of a dim, moves it with all_to_all from minor to minor, slices, reduces and owes;
/// everything else is one reshard. Equal costs are decided by order, so every rank finds the same
/// path. Neighbouring steps of one kind and dim merge into one over several axes.
class Converter {
 public:
  explicit Converter(const AbstractMesh& mesh) : mesh_(mesh) {}

  /// A path is impossible if no rank holds its values: partial maxima of a reduced array.
  const ConversionPath& plan(const Shape& shape, const Sharding& from, const Sharding& to);

 private:
  using Key = std::tuple<Shape, Sharding, Sharding>;

  const AbstractMesh& mesh_;
  std::map<Key, ConversionPath> memo_;
};

}  // namespace shardline
