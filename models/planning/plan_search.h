#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/planning/planned_step.h"
#include "roofline/machine/catalogue.h"

namespace shardline {

/// A mesh of chips and the torus axes that its axes are laid over.
struct ChipMesh {
  AbstractMesh mesh;
  roofline::TorusLayout layout;
};

/// Every mesh {X, Y} of so many chips, X and Y powers of two, over every share of the chip's torus axes; axes of one
/// chip are left out. None where the chip's torus is too small. `chips` is a power of two.
std::vector<ChipMesh> meshes_of(const roofline::Chip& chip, Index chips);

/// Every mesh {X, Y} that whole axes of a torus of these lengths make.
std::vector<ChipMesh> meshes_of_torus(const std::vector<Index>& torus);

/// A mesh with the torus axes that `counts` gives to its axes (by default all to a single one, all but one to the first
/// of several). Throws UsageError where a chip has not so many, or no such shape.
ChipMesh laid_over(const roofline::Chip& chip, const AbstractMesh& mesh, const std::map<Axis, int>& counts);

/// A mesh whose axes are products of whole axes of a torus of these lengths, as neighbours in their order where there
/// is a choice. Throws UsageError where they do not factor so.
ChipMesh laid_over_torus(const std::vector<Index>& torus, const AbstractMesh& mesh);

/// The axis between pods.
inline constexpr const char* kPodAxis = "pods";

/// Every way to give the axes roles: Y tp, that of pods dp, any other dp, zero1 or fsdp. One of a single rank is fsdp,
/// as all are the same there.
std::vector<Strategy> strategies_on(const AbstractMesh& mesh);

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
