#pragma once

#include <vector>

#include "runtime/base/shape.h"
#include "runtime/layout/abstract_mesh.h"
#include "runtime/layout/sharding.h"

namespace shardline {

/// The block rule: a dim of size `n` is cut over `parts` ranks. The first n mod parts ranks hold
/// ceil(n / parts), the rest hold floor(n / parts). Empty blocks are legal.
Range block(Index n, Index parts, Index which);

/// The block that `coordinates` hold of a dim of size `n` over several axes of `mesh`, nested,
/// major axis first.
Range nested_block(Index n, const Axes& axes, const AbstractMesh& mesh, const Coordinates& coordinates);

/// The blocks of a dim of size `n` for every position of the group over `axes` (major first), in
/// order.
std::vector<Range> nested_blocks(Index n, const Axes& axes, const AbstractMesh& mesh);

/// The block of an array of logical `shape` on `rank`: one range per dim. Unreduced axes do not
/// cut.
std::vector<Range> box(const Shape& shape, const Sharding& sharding, const AbstractMesh& mesh, Index rank);

/// Extents of box().
Shape local_shape(const Shape& shape, const Sharding& sharding, const AbstractMesh& mesh, Index rank);

/// The largest local shape over all ranks (that of rank 0).
Shape largest_local_shape(const Shape& shape, const Sharding& sharding, const AbstractMesh& mesh);

}  // namespace shardline
