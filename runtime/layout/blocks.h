#pragma once

#include <vector>

#include "runtime/base/shape.h"
#include "runtime/layout/abstract_mesh.h"
#include "runtime/layout/sharding.h"

namespace shardline {

/// The block rule: a dim of size `n` over `parts`: the first n mod parts ranks hold ceil(n / parts), the rest
/// floor(n / parts). Zero is legal.
Range block(Index n, Index parts, Index which);

/// The block of a dim of size `n` over several axes of `mesh`, nested with the major axis first, for `coordinates`.
Range nested_block(Index n, const Axes& axes, const AbstractMesh& mesh, const Coordinates& coordinates);

/// The blocks of a dim of size `n` for every position of the group over `axes` (major first), in that order.
std::vector<Range> nested_blocks(Index n, const Axes& axes, const AbstractMesh& mesh);

/// What `rank` holds of an array of logical `shape`: one range per dim. Unreduced axes do not cut.
std::vector<Range> box(const Shape& shape, const Sharding& sharding, const AbstractMesh& mesh, Index rank);

/// Extents of box().
Shape local_shape(const Shape& shape, const Sharding& sharding, const AbstractMesh& mesh, Index rank);

/// The largest local shape over all ranks (that of rank 0).
Shape largest_local_shape(const Shape& shape, const Sharding& sharding, const AbstractMesh& mesh);

}  // namespace shardline
