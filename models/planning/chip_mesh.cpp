#include "models/planning/chip_mesh.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "roofline/machine/torus.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// The usual axes with these sizes, after an axis of `stages`. Axes of one chip are dropped; for a single chip the
/// first usual axis stays.
AbstractMesh mesh_of(const std::vector<Index>& sizes, Index stages = 1) {
  std::vector<std::pair<Axis, Index>> axes;
  if (stages > 1) axes.emplace_back(usual_axis(stage_role()), stages);
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    if (sizes[a] > 1) axes.emplace_back(usual_axes()[a], sizes[a]);
  }
  if (axes.empty()) axes.emplace_back(usual_axes().front(), 1);
  return AbstractMesh(axes);
}

/// Drops sides of one chip.
std::vector<Index> longer_than_one(std::vector<Index> sides) {
  sides.erase(std::remove(sides.begin(), sides.end(), Index{1}), sides.end());
  return sides;
}

/// All ways to share `all` torus axes among mesh axes; each gets at least one.
std::vector<std::vector<int>> shares(int all, std::size_t axes) {
  if (axes == 0) return {{}};
  if (axes == 1) return {{all}};
  std::vector<std::vector<int>> ways;
  for (int first = 1; first < all; ++first) {
    for (const std::vector<int>& others : shares(all - first, axes - 1)) {
      ways.push_back({first});
      ways.back().insert(ways.back().end(), others.begin(), others.end());
    }
  }
  return ways;
}

/// Lays each group of neighbouring axes of `mesh` over its number of torus axes of a chip. None if they are too short.
std::optional<roofline::TorusLayout> torus_layout(const roofline::Chip& chip, const AbstractMesh& mesh,
                                                  const std::vector<Axes>& groups, const std::vector<int>& share) {
  roofline::TorusLayout layout;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto sides = torus_sides(chip, mesh.size(groups[g]), share[g]);
    if (!sides) return std::nullopt;
    layout[groups[g].front()] = longer_than_one(*sides);
  }
  return layout;
}

/// Adds a mesh, unless the list has the same one.
void add_new(std::vector<ChipMesh>& meshes, const ChipMesh& made) {
  const auto same = [&](const ChipMesh& other) {
    return other.layout == made.layout && other.mesh.to_string() == made.mesh.to_string();
  };
  if (std::none_of(meshes.begin(), meshes.end(), same)) meshes.push_back(made);
}

/// All ways to cut `axes` into groups of neighbours; first each axis alone.
std::vector<std::vector<Axes>> groupings(const Axes& axes) {
  std::vector<std::vector<Axes>> ways;
  const std::size_t gaps = axes.empty() ? 0 : axes.size() - 1;
  for (std::size_t joined = 0; joined < (std::size_t{1} << gaps); ++joined) {
    std::vector<Axes> groups;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (a == 0 || (joined >> (a - 1) & 1) == 0) groups.emplace_back();
      groups.back().push_back(axes[a]);
    }
    ways.push_back(groups);
  }
  return ways;
}

/// Adds a mesh over every share of the chip's torus axes on which it has room. An axis of stages takes one of them.
void add_every_way(std::vector<ChipMesh>& meshes, const roofline::Chip& chip, const AbstractMesh& mesh) {
  ChipMesh made = chip_mesh(mesh);
  if (chip.torus_axes == 0) {
    add_new(meshes, made);
    return;
  }
  const Axes moving = mesh.axes_that_move();
  const std::vector<Axes> alone = groupings(moving).front();
  const bool staged = !moving.empty() && moving.front() == usual_axis(stage_role());
  for (const std::vector<int>& share : shares(chip.torus_axes, moving.size())) {
    if (staged && moving.size() > 1 && share.front() > 1) continue;
    const auto layout = torus_layout(chip, mesh, alone, share);
    if (!layout) continue;
    made.layout = *layout;
    add_new(meshes, made);
  }
}

/// Neighbours on the same torus axes: an axis with 0 of its own, by default kContextAxis, joins the one before it. Axes
/// of one chip are left out.
std::vector<Axes> sharing_axes(const AbstractMesh& mesh, const std::map<Axis, int>& counts = {}) {
  std::vector<Axes> groups;
  for (const Axis& axis : mesh.axes_that_move()) {
    const auto given = counts.find(axis);
    const bool shares = given != counts.end() ? given->second == 0 : axis == kContextAxis;
    if (shares && !groups.empty()) {
      groups.back().push_back(axis);
    } else {
      groups.push_back({axis});
    }
  }
  return groups;
}

/// True if every role that `mesh` has for the axis splits the batch.
bool always_splits_batch(const ChipMesh& mesh, const Axis& axis) {
  const std::vector<AxisRole>& roles = mesh.roles.at(axis);
  return std::all_of(roles.begin(), roles.end(), [](const AxisRole& role) { return splits_batch(role.row()); });
}

/// True for roles of axes beside one that splits experts: these are not split twice, and whoever splits the batch also
/// splits the state, which is large.
bool is_beside_experts(const RoleRow& row) { return !splits_experts(row) && (!splits_batch(row) || splits_state(row)); }

/// The largest divisor of `n` that is at most `most`.
Index divisor_below(Index n, Index most) {
  Index divisor = std::min(n, most);
  while (n % divisor != 0) --divisor;
  return divisor;
}

}  // namespace

AxisRole expert_role() {
  return roles_with(
             [](const RoleRow& row) { return splits_experts(row) && splits_batch(row) && row.parameters.size() > 1; })
      .at(0);
}

ChipMesh chip_mesh(const AbstractMesh& mesh) { return {mesh, {}, searched_roles(mesh)}; }

ChipMesh joined_pods(const ChipMesh& pod, Index pods) {
  std::vector<std::pair<Axis, Index>> axes{{kPodAxis, pods}};
  for (const Axis& axis : pod.mesh.axes()) axes.emplace_back(axis, pod.mesh.size(axis));
  ChipMesh joined{AbstractMesh(axes), pod.layout, pod.roles};
  joined.roles[kPodAxis] = {role_between_pods()};
  return joined;
}

ChipMesh with_context(const ChipMesh& mesh, Index sequences) {
  const Axis& x = usual_axes().front();
  if (!mesh.mesh.has(x) || mesh.mesh.has(kContextAxis)) return mesh;
  Index others = 1;
  for (const Axis& axis : mesh.mesh.axes()) {
    if (axis != x && always_splits_batch(mesh, axis)) others *= mesh.mesh.size(axis);
  }
  const Index size = mesh.mesh.size(x);
  if (others > sequences || size * others <= sequences) return mesh;
  const Index major = divisor_below(size, sequences / others);
  std::vector<std::pair<Axis, Index>> axes;
  for (const Axis& axis : mesh.mesh.axes()) {
    if (axis != x) axes.emplace_back(axis, mesh.mesh.size(axis));
    if (axis == x && major > 1) axes.emplace_back(x, major);
    if (axis == x) axes.emplace_back(kContextAxis, size / major);
  }
  ChipMesh made{AbstractMesh(axes), mesh.layout, mesh.roles};
  made.roles[kContextAxis] = usual_roles(kContextAxis);
  if (major > 1) return made;
  made.roles.erase(x);
  auto laid = made.layout.extract(x);
  if (!laid.empty()) laid.key() = Axis(kContextAxis), made.layout.insert(std::move(laid));
  return made;
}

std::vector<ChipMesh> meshes_of(const roofline::Chip& chip, Index chips) {
  std::vector<ChipMesh> meshes;
  for (const std::vector<Index>& sizes : power_factors(chips, usual_axes().size())) {
    add_every_way(meshes, chip, mesh_of(sizes));
  }
  return meshes;
}

std::vector<ChipMesh> staged_meshes_of(const roofline::Chip& chip, Index chips, Index most) {
  std::vector<ChipMesh> meshes;
  for (Index stages = 2; stages <= std::min(chips, most); stages *= 2) {
    if (chips % stages != 0) break;
    for (const std::vector<Index>& sizes : power_factors(chips / stages, usual_axes().size())) {
      add_every_way(meshes, chip, mesh_of(sizes, stages));
    }
  }
  return meshes;
}

std::vector<ChipMesh> expert_meshes_of(const roofline::Chip& chip, Index chips, Index most) {
  std::vector<ChipMesh> meshes = staged_meshes_of(chip, chips, most);
  std::erase_if(meshes, [](const ChipMesh& each) { return !each.mesh.has(usual_axes().front()); });
  for (ChipMesh& each : meshes) {
    each.roles[kExpertAxis] = roles_with([](const RoleRow& row) { return splits_experts(row) && splits_batch(row); });
    for (const Axis& axis : usual_axes()) {
      const bool has = each.mesh.has(axis);
      if (has) std::erase_if(each.roles[axis], [](const AxisRole& role) { return !is_beside_experts(role.row()); });
    }
  }
  return meshes;
}

void add_expert_roles(ChipMesh& mesh) {
  for (auto& [axis, roles] : mesh.roles) {
    if (mesh.mesh.size(axis) == 1) continue;
    for (const AxisRole& role : usual_roles(axis)) {
      if (splits_experts(role.row())) roles.push_back(role);
    }
  }
}

std::vector<ChipMesh> meshes_of_torus(const std::vector<Index>& torus) {
  std::vector<ChipMesh> meshes;
  const std::vector<Index> sides = longer_than_one(torus);
  const std::size_t axes = usual_axes().size();
  std::size_t choices = 1;
  for (std::size_t side = 0; side < sides.size(); ++side) choices *= axes;
  for (std::size_t choice = 0; choice < choices; ++choice) {
    std::vector<Index> sizes(axes, 1);
    roofline::TorusLayout layout;
    std::size_t digits = choice;  // one digit per side of the torus: the mesh axis that takes it
    for (const Index side : sides) {
      sizes[digits % axes] *= side;
      layout[usual_axes()[digits % axes]].push_back(side);
      digits /= axes;
    }
    ChipMesh made = chip_mesh(mesh_of(sizes));
    made.layout = layout;
    add_new(meshes, made);
  }
  return meshes;
}

std::vector<ChipMesh> laid_every_way(const roofline::Chip& chip, const AbstractMesh& mesh) {
  ChipMesh made = chip_mesh(mesh);
  if (chip.torus_axes == 0) return {made};
  std::vector<ChipMesh> meshes;
  for (const std::vector<Axes>& groups : groupings(mesh.axes_that_move())) {
    for (const std::vector<int>& share : shares(chip.torus_axes, groups.size())) {
      const auto layout = torus_layout(chip, mesh, groups, share);
      if (!layout) continue;
      made.layout = *layout;
      add_new(meshes, made);
    }
  }
  return meshes;
}

ChipMesh laid_over(const roofline::Chip& chip, const AbstractMesh& mesh, const std::map<Axis, int>& counts) {
  ChipMesh made = chip_mesh(mesh);
  if (chip.torus_axes == 0) return made;
  const std::vector<Axes> groups = sharing_axes(mesh, counts);
  int used = 0;
  for (const Axes& group : groups) {
    const Axis& axis = group.front();
    const auto given = counts.find(axis);
    const bool first = &group == &groups.front();
    const int own = given != counts.end() ? given->second
                    : first               ? std::max(1, chip.torus_axes + 1 - static_cast<int>(groups.size()))
                                          : 1;
    require(own >= 1, "mesh axis {}: {} torus axes; at least 1", axis, own);
    used += own;
    const auto sides = roofline::torus_sides(chip, mesh.size(group), own);
    require(sides.has_value(), "mesh axis {}: {} chips do not lie on {} torus ax{} of {}, whose axes have at most {}",
            fmt::join(group, ""), mesh.size(group), own, own == 1 ? "is" : "es", chip.name, chip.wraps_at);
    made.layout[axis] = longer_than_one(*sides);
  }
  require(used <= chip.torus_axes, "the axes of mesh {} take {} torus axes, {} has {}", mesh.to_string(), used,
          chip.name, chip.torus_axes);
  return made;
}

ChipMesh laid_over_torus(const std::vector<Index>& torus, const AbstractMesh& mesh) {
  require(element_count(torus) == mesh.ranks(), "mesh {} has {} chips, torus {} has {}", mesh.to_string(), mesh.ranks(),
          fmt::join(torus, "x"), element_count(torus));
  ChipMesh made = chip_mesh(mesh);
  std::vector<Index> left = longer_than_one(torus);
  for (const Axes& group : sharing_axes(mesh)) {
    const Axis& axis = group.front();
    // The torus sides whose product is the axis, in torus order. There are at most eight sides.
    std::vector<std::size_t> taken;
    for (std::size_t choice = 1; choice < (std::size_t{1} << left.size()) && taken.empty(); ++choice) {
      Index ranks = 1;
      for (std::size_t a = 0; a < left.size(); ++a) ranks *= (choice >> a & 1) == 1 ? left[a] : 1;
      if (ranks != mesh.size(group)) continue;
      for (std::size_t a = left.size(); a-- > 0;) {
        if ((choice >> a & 1) == 1) taken.push_back(a);
      }
    }
    require(!taken.empty(), "mesh axis {} has {} chips, which no whole axes of torus {} make", fmt::join(group, ""),
            mesh.size(group), fmt::join(torus, "x"));
    for (const std::size_t a : taken) {
      made.layout[axis].insert(made.layout[axis].begin(), left[a]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(a));
    }
  }
  return made;
}

std::vector<Strategy> strategies_on(const ChipMesh& mesh, const std::string& strategy) {
  if (!strategy.empty()) return {parse_strategy(strategy, mesh.mesh)};
  return strategies_of({.mesh = mesh.mesh, .roles = mesh.roles});
}

Index ranks_with(bool (*fact)(const RoleRow&), const AbstractMesh& mesh, const Strategy& strategy) {
  Index ranks = 1;
  for (const auto& [axis, role] : strategy) {
    if (fact(role.row())) ranks *= mesh.size(axis);
  }
  return ranks;
}

}  // namespace shardline
