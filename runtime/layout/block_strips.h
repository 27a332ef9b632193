#pragma once

#include <vector>

#include "runtime/base/shape.h"

namespace shardline {

/// Calls body(offset in the whole, offset in the block, elements) for every contiguous strip of the block `ranges`
/// of a row-major array of `shape`, in order.
template <class Body>
void for_each_strip(const Shape& shape, const std::vector<Range>& ranges, Body body) {
  Index strip = 1;
  std::size_t outer = shape.size();
  while (outer > 0 && ranges[outer - 1].size() == shape[outer - 1]) strip *= shape[--outer];
  if (outer > 0) strip *= ranges[--outer].size();
  Index strips = 1;
  for (std::size_t d = 0; d < outer; ++d) strips *= ranges[d].size();
  if (strips == 0 || strip == 0) return;

  std::vector<Index> at(outer, 0);
  for (Index s = 0; s < strips; ++s) {
    Index offset = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      offset = offset * shape[d] + (d < outer ? ranges[d].begin + at[d] : d == outer ? ranges[d].begin : 0);
    }
    body(offset, s * strip, strip);
    for (std::size_t d = outer; d-- > 0;) {
      if (++at[d] < ranges[d].size()) break;
      at[d] = 0;
    }
  }
}

}  // namespace shardline
