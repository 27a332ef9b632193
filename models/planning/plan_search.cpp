#include "models/planning/plan_search.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/architecture/accounting.h"
#include "roofline/machine/torus.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// {X, Y} without axes of one chip; of one chip, {X: 1}.
AbstractMesh mesh_of(Index x, Index y) {
  std::vector<std::pair<Axis, Index>> axes;
  if (x > 1 || y == 1) axes.emplace_back("X", x);
  if (y > 1) axes.emplace_back("Y", y);
  return AbstractMesh(axes);
}

std::vector<std::string> roles_of(const Axis& axis, Index ranks) {
  if (ranks == 1) return {"fsdp"};
  if (axis == kPodAxis) return {"dp"};
  return axis == "Y" ? std::vector<std::string>{"tp"} : std::vector<std::string>{"dp", "zero1", "fsdp"};
}

/// What PlanCandidate::keeps says. Whatever is computed again, gradients and new weights must find room.
std::string what_fits(const PlannedStep& step, const PlannedRun& run, Bytes capacity) {
  if (capacity.value == 0) return kUnknown;
  if (step.memory.total() <= capacity) return kKeepsAll;
  const Bytes state = step.memory.weights + step.memory.optimizer;
  const auto ranks = static_cast<double>(step.mesh.ranks());
  std::string fits;
  for (const Rematerialisation& policy : rematerialisations()) {  // from the barest on
    const Bytes element(static_cast<double>(size_of(run.dtype)));
    const Bytes kept = activation_bytes(run.config, static_cast<double>(run.tokens), policy, element) / ranks;
    if (policy.name != kKeepsAll && state + std::max(step.memory.update, kept) <= capacity) fits = policy.name;
  }
  return fits;
}

/// Without the axes of one chip.
std::vector<Index> longer_than_one(std::vector<Index> sides) {
  sides.erase(std::remove(sides.begin(), sides.end(), Index{1}), sides.end());
  return sides;
}

/// How X and Y share `all` torus axes: each has one at least, and all of them where the other has one chip.
std::vector<std::pair<int, int>> shares(int all, bool both) {
  if (all == 0 || !both) return {{all, all}};
  std::vector<std::pair<int, int>> ways;
  for (int x = 1; x < all; ++x) ways.emplace_back(x, all - x);
  return ways;
}

/// Adds a mesh, unless the same lies there.
void add_new(std::vector<ChipMesh>& meshes, const ChipMesh& made) {
  const auto same = [&](const ChipMesh& other) {
    return other.layout == made.layout && other.mesh.to_string() == made.mesh.to_string();
  };
  if (std::none_of(meshes.begin(), meshes.end(), same)) meshes.push_back(made);
}

}  // namespace

std::vector<ChipMesh> meshes_of(const roofline::Chip& chip, Index chips) {
  std::vector<ChipMesh> meshes;
  for (Index x = 1; x <= chips; x *= 2) {
    const Index y = chips / x;
    for (const auto& [x_axes, y_axes] : shares(chip.torus_axes, x > 1 && y > 1)) {
      ChipMesh made{mesh_of(x, y), {}};
      if (chip.torus_axes > 0) {
        const auto x_sides = torus_sides(chip, x, x_axes);
        const auto y_sides = torus_sides(chip, y, y_axes);
        if (!x_sides || !y_sides) continue;
        if (x > 1) made.layout["X"] = longer_than_one(*x_sides);
        if (y > 1) made.layout["Y"] = longer_than_one(*y_sides);
      }
      add_new(meshes, made);
    }
  }
  return meshes;
}

std::vector<ChipMesh> meshes_of_torus(const std::vector<Index>& torus) {
  std::vector<ChipMesh> meshes;
  const std::vector<Index> axes = longer_than_one(torus);
  for (std::size_t choice = 0; choice < (std::size_t{1} << axes.size()); ++choice) {
    std::vector<Index> x;
    std::vector<Index> y;
    for (std::size_t a = 0; a < axes.size(); ++a) ((choice >> a & 1) == 0 ? x : y).push_back(axes[a]);
    ChipMesh made{mesh_of(element_count(x), element_count(y)), {}};
    if (!x.empty()) made.layout["X"] = x;
    if (!y.empty()) made.layout["Y"] = y;
    add_new(meshes, made);
  }
  return meshes;
}

ChipMesh laid_over(const roofline::Chip& chip, const AbstractMesh& mesh, const std::map<Axis, int>& counts) {
  ChipMesh made{mesh, {}};
  if (chip.torus_axes == 0) return made;
  const Axes axes = mesh.axes_that_move();
  int used = 0;
  for (const Axis& axis : axes) {
    const auto given = counts.find(axis);
    const bool first = axis == axes.front();
    const int own = given != counts.end() ? given->second
                    : first               ? std::max(1, chip.torus_axes + 1 - static_cast<int>(axes.size()))
                                          : 1;
    require(own >= 1, "mesh axis {}: {} torus axes; at least 1", axis, own);
    used += own;
    const auto sides = roofline::torus_sides(chip, mesh.size(axis), own);
    require(sides.has_value(), "mesh axis {}: {} chips do not lie on {} torus ax{} of {}, whose axes have at most {}",
            axis, mesh.size(axis), own, own == 1 ? "is" : "es", chip.name, chip.wraps_at);
    made.layout[axis] = longer_than_one(*sides);
  }
  require(used <= chip.torus_axes, "the axes of mesh {} take {} torus axes, {} has {}", mesh.to_string(), used,
          chip.name, chip.torus_axes);
  return made;
}

ChipMesh laid_over_torus(const std::vector<Index>& torus, const AbstractMesh& mesh) {
  require(element_count(torus) == mesh.ranks(), "mesh {} has {} chips, torus {} has {}", mesh.to_string(), mesh.ranks(),
          fmt::join(torus, "x"), element_count(torus));
  ChipMesh made{mesh, {}};
  std::vector<Index> left = longer_than_one(torus);
  for (const Axis& axis : mesh.axes_that_move()) {
    // The subset that multiplies to the axis, in the order of the torus; there are eight at most.
    std::vector<std::size_t> taken;
    for (std::size_t choice = 1; choice < (std::size_t{1} << left.size()) && taken.empty(); ++choice) {
      Index ranks = 1;
      for (std::size_t a = 0; a < left.size(); ++a) ranks *= (choice >> a & 1) == 1 ? left[a] : 1;
      if (ranks != mesh.size(axis)) continue;
      for (std::size_t a = left.size(); a-- > 0;) {
        if ((choice >> a & 1) == 1) taken.push_back(a);
      }
    }
    require(!taken.empty(), "mesh axis {} has {} chips, which no whole axes of torus {} make", axis, mesh.size(axis),
            fmt::join(torus, "x"));
    for (const std::size_t a : taken) {
      made.layout[axis].insert(made.layout[axis].begin(), left[a]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(a));
    }
  }
  return made;
}

std::vector<Strategy> strategies_on(const AbstractMesh& mesh) {
  std::vector<Strategy> all{{}};
  for (const Axis& axis : mesh.axes()) {
    std::vector<Strategy> longer;
    for (const Strategy& strategy : all) {
      for (const std::string& role : roles_of(axis, mesh.size(axis))) {
        longer.push_back(strategy);
        longer.back().emplace_back(axis, role);
      }
    }
    all = std::move(longer);
  }
  return all;
}

Index batch_ranks(const AbstractMesh& mesh, const Strategy& strategy) {
  Index ranks = 1;
  for (const auto& [axis, role] : strategy) {
    for (const RoleRow& row : strategy_table()) {
      if (row.name == role && row.tokens == std::vector<std::string>{"B"}) ranks *= mesh.size(axis);
    }
  }
  return ranks;
}

std::vector<PlanCandidate> search_plans(const StepPlanner& planner, const std::vector<ChipMesh>& meshes,
                                        const std::string& strategy, Bytes capacity,
                                        const std::function<roofline::Hardware(const ChipMesh&)>& hardware_of) {
  std::vector<PlanCandidate> found;
  for (const ChipMesh& each : meshes) {
    const roofline::Hardware hardware = hardware_of(each);
    const std::vector<Strategy> strategies =
        strategy.empty() ? strategies_on(each.mesh) : std::vector<Strategy>{parse_strategy(strategy, each.mesh)};
    for (const Strategy& tried : strategies) {
      if (batch_ranks(each.mesh, tried) > planner.run().tokens) continue;
      const PlannedStep step = planner.price(each.mesh, tried, hardware);
      found.push_back({step, each.layout, what_fits(step, planner.run(), capacity)});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const PlanCandidate& a, const PlanCandidate& b) {
    const auto key = [](const PlanCandidate& c) {
      return std::tuple(c.keeps != kKeepsAll && c.keeps != kUnknown, !c.fits(),
                        static_cast<float>(c.step.scheduled.value), static_cast<float>(c.step.upper.value));
    };
    return key(a) < key(b);
  });
  return found;
}

}  // namespace shardline
