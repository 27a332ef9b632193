#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/strategy/strategy_space.h"
#include "models/strategy/usual_axes.h"
#include "roofline/machine/catalogue.h"

namespace shardline {

/// The axis that splits experts beside others in a search (book exercise 7.6). It has the name of the axis of stages: a
/// mesh has one of the two.
inline constexpr const char* kExpertAxis = "Z";

/// The role of that axis beside FSDP: it splits experts, the batch and all other weights.
AxisRole expert_role();

/// A mesh of chips, the torus axes under its axes, and the possible roles of its axes.
struct ChipMesh {
  AbstractMesh mesh;
  roofline::TorusLayout layout;
  AxisRoles roles;
};

/// A mesh without a torus, with searched_roles() but those that split experts.
ChipMesh chip_mesh(const AbstractMesh& mesh);

/// The same mesh in each of `pods` pods: one more axis, before the others, with role_between_pods().
ChipMesh joined_pods(const ChipMesh& pod, Index pods);

/// The same chips for a batch of `sequences`. If there are fewer than ranks that split the batch, the first usual axis
/// becomes shorter, the largest divisor of its size for which there are enough, and kContextAxis after it has the rest,
/// on the same torus axes. Else, and if the other axes split the batch too far already, the mesh as it is.
ChipMesh with_context(const ChipMesh& mesh, Index sequences);

/// Every mesh of usual_axes() with `chips` chips, a power of two. All axes are powers of two, over every share
/// of the chip's torus axes. Leaves out axes of one chip. Empty if the chip's torus is too small.
std::vector<ChipMesh> meshes_of(const roofline::Chip& chip, Index chips);

/// Meshes of usual_axes() with kExpertAxis before them, of 2 to `most` ranks, a power of two, which has the roles that
/// split experts and the batch. The other axes split no experts, and split the state where they split the batch. On a
/// torus kExpertAxis has one torus axis of its own. `chips` chips in all.
std::vector<ChipMesh> expert_meshes_of(const roofline::Chip& chip, Index chips, Index most);

/// Adds the usual roles of each axis that split experts.
void add_expert_roles(ChipMesh& mesh);

/// Every mesh of usual_axes() made of whole axes of a torus of these lengths.
std::vector<ChipMesh> meshes_of_torus(const std::vector<Index>& torus);

/// Meshes of usual_axes() with an axis of 2 to `most` stages before them, a power of two, of `chips` chips in all. On
/// a torus the stages lie on one torus axis of their own. Empty if there is no room for such a mesh.
std::vector<ChipMesh> staged_meshes_of(const roofline::Chip& chip, Index chips, Index most);

/// `mesh` over every share of a chip's torus axes: each has some of its own, or neighbours lie on the same ones. On a
/// switch the mesh alone. Empty if the chip's torus is too small.
std::vector<ChipMesh> laid_every_way(const roofline::Chip& chip, const AbstractMesh& mesh);

/// `mesh` over torus axes. `counts` gives the number of torus axes of each mesh axis; 0: it lies on those of the axis
/// before it, as kContextAxis by default. By default a single axis gets all of them; of several axes with torus axes of
/// their own the first gets all that the others leave, with one each. Throws UsageError if the chip does not have so
/// many torus axes, or no torus of this shape.
ChipMesh laid_over(const roofline::Chip& chip, const AbstractMesh& mesh, const std::map<Axis, int>& counts);

/// A mesh whose axes are products of whole axes of a torus of these lengths, if possible neighbours in their
/// order. kContextAxis shares those of the axis before it. Throws UsageError if the sizes do not factor in this way.
ChipMesh laid_over_torus(const std::vector<Index>& torus, const AbstractMesh& mesh);

/// Every way to give each axis one of its roles, or only `strategy` in the form of parse_strategy().
std::vector<Strategy> strategies_on(const ChipMesh& mesh, const std::string& strategy = "");

/// The number of ranks on the axes whose roles have `fact`.
Index ranks_with(bool (*fact)(const RoleRow&), const AbstractMesh& mesh, const Strategy& strategy);

}  // namespace shardline
