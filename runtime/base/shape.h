#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardline {

/// Sizes, counts and positions: signed and 64 bits wide everywhere.
using Index = std::int64_t;

/// Extents of an array, slowest dim first; empty for a scalar. Extents may be zero.
using Shape = std::vector<Index>;

/// A half-open interval [begin, end) of positions along one dim of a logical array.
struct Range {
  Index begin = 0;
  Index end = 0;
  Index size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

/// Number of elements of a shape (1 for a scalar). Throws Error if it does not fit 63 bits, or if
/// an extent is negative.
Index element_count(const Shape& shape);

/// "[4, 8]"
std::string to_string(const Shape& shape);

}  // namespace shardline
