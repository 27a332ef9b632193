#include "models/parity/generation_layout.h"

#include <algorithm>
#include <cstddef>

#include "models/strategy/strategy_space.h"

namespace shardline {
namespace {

constexpr Index kChunk = 4;  ///< of prompts that are read in parts

bool has_experts(const Strategy& strategy) {
  return std::any_of(strategy.begin(), strategy.end(),
                     [](const auto& entry) { return splits_experts(entry.second.row()); });
}

/// The layouts of a mesh, number `turn` of all meshes.
std::vector<GenerationLayout> layouts_of(const AbstractMesh& mesh, std::size_t turn) {
  const std::vector<AxisRole> roles = roles_for_use(RoleUse::generation);
  // The role of each axis of layout number `i`. On later axes the roles are some steps further on.
  const auto strategy = [&](std::size_t i) {
    Strategy made;
    for (std::size_t a = 0; a < mesh.axes().size(); ++a) {
      made.emplace_back(mesh.axes()[a], roles[(i + a * (turn + 1)) % roles.size()]);
    }
    return made;
  };
  const std::size_t number = mesh.ranks() == 1 ? 1 : roles.size();  // all roles are the same on one rank
  std::vector<GenerationLayout> layouts;
  for (std::size_t i = 0; i < number; ++i) {
    const std::size_t k = i + turn;
    GenerationLayout layout{.mesh = mesh, .decode = strategy(i)};
    if (k % 2 == 1) layout.prefill = strategy(i + 1 + k % (roles.size() - 1));
    if (k % 3 == 2) layout.chunk = kChunk;
    layout.shared_memory = k % 5 != 4;
    layout.task =
        has_experts(layout.decode) ? ParityTask::dropless : generation_tasks()[k / 2 % generation_tasks().size()];
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

std::string name_of(ParityTask task) {
  return task == ParityTask::tied       ? " tied"
         : task == ParityTask::biases   ? " biases"
         : task == ParityTask::dropless ? " dropless"
                                        : "";
}

}  // namespace

std::string to_string(const GenerationLayout& layout) {
  std::string text = "generate " + to_string(layout.decode);
  if (layout.prefill) text += " prefill=" + to_string(*layout.prefill);
  if (layout.chunk > 0) text += " chunk=" + std::to_string(layout.chunk);
  if (!layout.shared_memory) text += " messages";
  return text + name_of(layout.task);
}

const std::vector<ParityTask>& generation_tasks() {
  static const std::vector<ParityTask> kTasks = {ParityTask::usual, ParityTask::tied, ParityTask::biases,
                                                 ParityTask::dropless};
  return kTasks;
}

std::vector<GenerationLayout> generation_layouts(Index ranks) {
  std::vector<GenerationLayout> all;
  const std::vector<AbstractMesh> meshes = parity_meshes(ranks);
  for (std::size_t turn = 0; turn < meshes.size(); ++turn) {
    for (GenerationLayout& layout : layouts_of(meshes[turn], turn)) all.push_back(std::move(layout));
  }
  return all;
}

void for_each_generation_layout(Index ranks, const std::function<void(const GenerationLayout&)>& visit) {
  for (const GenerationLayout& layout : generation_layouts(ranks)) visit(layout);
  for (const AbstractMesh& mesh : parity_meshes(ranks)) {
    AxisRoles roles;
    for (const Axis& axis : mesh.axes()) roles[axis] = roles_for_use(RoleUse::generation);
    const std::vector<Strategy> strategies = strategies_of({mesh, roles, {}});
    for (const Strategy& decode : strategies) {
      for (const Strategy& prefill : strategies) {
        const bool experts = has_experts(decode) || has_experts(prefill);
        visit({.mesh = mesh,
               .decode = decode,
               .prefill = prefill,
               .task = experts ? ParityTask::dropless : ParityTask::usual});
      }
    }
  }
}

}  // namespace shardline
