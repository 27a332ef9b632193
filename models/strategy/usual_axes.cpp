#include "models/strategy/usual_axes.h"

namespace shardline {

const Axes& usual_axes() {
  static const Axes kAxes = {"X", "Y"};
  return kAxes;
}

const Axis& usual_axis(const AxisRole& role) {
  static const Axis kStages = "Z";
  if (makes_stages(role.row())) return kStages;
  return usual_axes()[splits_batch(role.row()) ? 0 : 1];
}

std::vector<AxisRole> usual_roles(const Axis& axis) {
  if (axis == kPodAxis) return {role_between_pods()};
  if (axis == kContextAxis) return roles_with(shares_sequences);
  const bool usual = contains(usual_axes(), axis) || axis == usual_axis(stage_role());
  const Axis& like = usual ? axis : usual_axes().front();
  std::vector<AxisRole> roles;
  for (const AxisRole& role : training_roles()) {
    if (usual_axis(role) == like) roles.push_back(role);
  }
  return roles;
}

}  // namespace shardline
