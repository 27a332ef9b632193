#pragma once

#include <vector>

#include "models/strategy/roles.h"
#include "runtime/layout/axes.h"

namespace shardline {

// The usual names of mesh axes. A name decides only the default roles of an axis.

/// The axis between pods.
inline constexpr const char* kPodAxis = "pods";

/// The axis that splits sequences, where a batch has fewer of them than ranks.
inline constexpr const char* kContextAxis = "C";

/// The axes of a searched mesh, major first: X and Y.
const Axes& usual_axes();

/// The axis of a role without an axis, as in "fsdp+tp": X if the role splits the batch, Z if it makes stages, otherwise
/// Y.
const Axis& usual_axis(const AxisRole& role);

/// The default roles of an axis of this name, in the order of the table. Y and Z have the roles whose usual axis they
/// are.
/// The axis between pods has role_between_pods(), kContextAxis the roles that split contexts. Every other axis has the
/// roles of X.
std::vector<AxisRole> usual_roles(const Axis& axis);

}  // namespace shardline
