#pragma once

#include <vector>

#include "models/strategy/roles.h"
#include "runtime/layout/axes.h"

namespace shardline {

// What people call mesh axes. A name says which roles are meant where none is given; it decides nothing else.

/// The axis between pods.
inline constexpr const char* kPodAxis = "pods";

/// The axes of a mesh that is searched, major first: X and Y.
const Axes& usual_axes();

/// The axis of a role that is given without one, as in "fsdp+tp": X where the role splits the batch, otherwise Y.
const Axis& usual_axis(const AxisRole& role);

/// The roles that an axis of this name may have where none is given, in the order of the table: on Y those whose usual
/// axis it is, between pods role_between_pods(), on every other axis those of X.
std::vector<AxisRole> usual_roles(const Axis& axis);

}  // namespace shardline
