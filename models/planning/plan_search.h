#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/planning/planned_step.h"
#include "models/strategy/strategy_space.h"
#include "models/strategy/usual_axes.h"
#include "roofline/machine/catalogue.h"

namespace shardline {

/// A mesh of chips, the torus axes that its axes are laid over, and the roles that they may have.
struct ChipMesh {
  AbstractMesh mesh;
  roofline::TorusLayout layout;
  AxisRoles roles;
};

/// A mesh that lies on no torus, with searched_roles().
ChipMesh chip_mesh(const AbstractMesh& mesh);

/// The same mesh in each of so many pods: one axis more, before the others, of role_between_pods().
ChipMesh joined_pods(const ChipMesh& pod, Index pods);

/// Every mesh of usual_axes() and so many chips, all axes powers of two, over every share of the chip's torus axes;
/// axes of one chip are left out. None where the chip's torus is too small. `chips` is a power of two.
std::vector<ChipMesh> meshes_of(const roofline::Chip& chip, Index chips);

/// Every mesh of usual_axes() that whole axes of a torus of these lengths make.
std::vector<ChipMesh> meshes_of_torus(const std::vector<Index>& torus);

/// `mesh` laid over torus axes: `counts` says how many of them each mesh axis gets. By default a single axis gets all
/// of them; of several axes the first gets all but one. Throws UsageError when the chip does not have so many torus
/// axes, or no torus of this shape.
ChipMesh laid_over(const roofline::Chip& chip, const AbstractMesh& mesh, const std::map<Axis, int>& counts);

/// A mesh whose axes are products of whole axes of a torus of these lengths, as neighbours in their order where there
/// is a choice. Throws UsageError where they do not factor so.
ChipMesh laid_over_torus(const std::vector<Index>& torus, const AbstractMesh& mesh);

/// Every way to give the axes one of their roles, or the one that `strategy` names as parse_strategy() takes it.
std::vector<Strategy> strategies_on(const ChipMesh& mesh, const std::string& strategy = "");

/// What PlanCandidate::keeps says where nothing need be computed again, and where a rank's memory is not known.
inline constexpr const char* kKeepsAll = "all";
inline constexpr const char* kUnknown = "unknown";

struct PlanCandidate {
  PlannedStep step;
  roofline::TorusLayout layout;
  /// What a rank has room for beside weights and optimizer: "all" that the priced step holds, or else what the most
  /// generous other rematerialisation policy keeps (see activation_bytes()), whose recomputation is not in the times.
  /// Empty when it has room for none, kUnknown when it is not known.
  std::string keeps;

  bool fits() const { return !keeps.empty(); }
};

/// Ranks over which a strategy splits the batch.
Index batch_ranks(const AbstractMesh& mesh, const Strategy& strategy);

/// Prices every strategy on every mesh. First come those that fit with all they hold, then those that fit with less, of
/// these the fastest as scheduled, then the lowest upper bound. `hardware_of` gives what the ranks of a mesh are;
/// `capacity` is a rank's memory, 0 for not known. What splits the batch over more ranks than it has tokens is left
/// out. `strategy` names one as parse_strategy() does; empty for all.
std::vector<PlanCandidate> search_plans(const StepPlanner& planner, const std::vector<ChipMesh>& meshes,
                                        const std::string& strategy, Bytes capacity,
                                        const std::function<roofline::Hardware(const ChipMesh&)>& hardware_of);

}  // namespace shardline
