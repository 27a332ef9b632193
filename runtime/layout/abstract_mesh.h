#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/layout/axes.h"

namespace shardline {

/// Position of a rank on every axis of a mesh, in mesh order.
using Coordinates = std::vector<Index>;

/// Named axes and their sizes, major first. It uses no MPI, so a program can be partitioned and
/// priced for machines that do not exist here. Rank = row-major coordinate, last axis fastest.
class AbstractMesh {
 public:
  /// A mesh of one rank and no axes.
  AbstractMesh() = default;
  /// Throws UsageError if a name is repeated or illegal (letters, digits and `_`, starting with a
  /// letter), or if a size is below 1.
  explicit AbstractMesh(const std::vector<std::pair<Axis, Index>>& axes);
  /// Parses "X=2,Y=4"; blanks are allowed. Throws UsageError with the text if it is wrong or has
  /// more than 2^24 ranks.
  static AbstractMesh parse(const std::string& text);

  const Axes& axes() const { return names_; }
  bool has(const Axis& axis) const { return contains(names_, axis); }
  /// Size of one axis. Throws UsageError with axis and mesh if there is no such axis.
  Index size(const Axis& axis) const;
  /// Product of the sizes of `axes` (1 for none).
  Index size(const Axes& axes) const;
  Index ranks() const { return ranks_; }

  /// Position of `axis` in mesh order. Throws UsageError if there is no such axis.
  std::size_t position(const Axis& axis) const;
  Coordinates coordinates(Index rank) const;
  Index rank(const Coordinates& coordinates) const;
  /// The ranks that differ from `rank` only on `axes`, ordered by coordinates on `axes` as written
  /// (major first).
  std::vector<Index> group(Index rank, const Axes& axes) const;
  /// Position of `rank` within group(rank, axes).
  Index position_in_group(Index rank, const Axes& axes) const;
  /// `axes` sorted into mesh order.
  Axes in_mesh_order(Axes axes) const;
  /// The axes of size larger than 1, in mesh order.
  Axes axes_that_move() const;

  /// The mesh of the ranks with one coordinate on `axis`: the other axes. Throws UsageError if there is no such axis.
  AbstractMesh without(const Axis& axis) const;

  /// "{X:2, Y:4}"
  std::string to_string() const;
  bool operator==(const AbstractMesh&) const = default;

 private:
  Axes names_;
  std::vector<Index> sizes_;
  Index ranks_ = 1;
};

}  // namespace shardline
