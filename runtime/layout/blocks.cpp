#include "runtime/layout/blocks.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline {

Range block(Index n, Index parts, Index which) {
  SHARDLINE_DEBUG_CHECK(n >= 0 && which >= 0 && which < parts, "block {} of {} of a dim of {}", which, parts, n);
  const Index least = n / parts;
  const Index larger = n % parts;
  const Index begin = which * least + std::min(which, larger);
  return {begin, begin + least + (which < larger ? 1 : 0)};
}

Range nested_block(Index n, const Axes& axes, const AbstractMesh& mesh, const Coordinates& coordinates) {
  Range range{0, n};
  for (const Axis& axis : axes) {
    const Range inner = block(range.size(), mesh.size(axis), coordinates[mesh.position(axis)]);
    range = {range.begin + inner.begin, range.begin + inner.end};
  }
  return range;
}

std::vector<Range> nested_blocks(Index n, const Axes& axes, const AbstractMesh& mesh) {
  std::vector<Range> ranges{{0, n}};
  for (const Axis& axis : axes) {
    const Index parts = mesh.size(axis);
    std::vector<Range> finer;
    finer.reserve(ranges.size() * static_cast<std::size_t>(parts));
    for (const Range& range : ranges) {
      for (Index i = 0; i < parts; ++i) {
        const Range inner = block(range.size(), parts, i);
        finer.push_back({range.begin + inner.begin, range.begin + inner.end});
      }
    }
    ranges = std::move(finer);
  }
  return ranges;
}

std::vector<Range> box(const Shape& shape, const Sharding& sharding, const AbstractMesh& mesh, Index rank) {
  SHARDLINE_CHECK(shape.size() == sharding.dims.size(), "a shape of {} dims under a sharding of {}", shape.size(),
                  sharding.dims.size());
  const Coordinates coordinates = mesh.coordinates(rank);
  std::vector<Range> ranges;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    ranges.push_back(nested_block(shape[d], sharding.dims[d], mesh, coordinates));
  }
  return ranges;
}

Shape local_shape(const Shape& shape, const Sharding& sharding, const AbstractMesh& mesh, Index rank) {
  Shape result;
  for (const Range& range : box(shape, sharding, mesh, rank)) result.push_back(range.size());
  return result;
}

Shape largest_local_shape(const Shape& shape, const Sharding& sharding, const AbstractMesh& mesh) {
  return local_shape(shape, sharding, mesh, 0);
}

}  // namespace shardline
