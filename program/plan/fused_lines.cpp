#include "program/plan/fused_lines.h"

#include <fmt/ranges.h>

#include <map>

#include "program/ir/print.h"

namespace shardline {
namespace {

/// The name of the first array that a step makes.
const std::string& made_by(const RankProgram& program, int number) {
  return program.array_of(program.steps[static_cast<std::size_t>(number)].results.at(0)).name;
}

}  // namespace

std::vector<std::string> fused_lines(const RankProgram& program, const ProgramSchedule& schedule) {
  std::vector<std::string> all = lines(program);
  const auto note = [&](int number, const std::string& text) {
    all[static_cast<std::size_t>(number)] += "  # " + text;
  };
  for (const auto& [action, group] : schedule.fusions) {
    std::vector<std::string> products;
    for (const Fusion& fusion : group) {
      products.push_back(made_by(program, fusion.computation));
      note(fusion.computation, "panel by panel");
    }
    note(group.front().collective, fmt::format("panel by panel with {}", fmt::join(products, ", ")));
  }
  std::map<int, std::vector<std::string>> left_out;  // by step: the rings that it serves
  for (const auto& [action, ring] : schedule.rings) {
    note(ring.computation, fmt::format("ring over {}", to_string(ring.axes)));
    for (const std::vector<int>* parts : {&ring.gathers, &ring.scatters}) {
      for (const int part : *parts) left_out[part].push_back(made_by(program, ring.computation));
    }
  }
  for (const auto& [part, rings] : left_out) note(part, fmt::format("in the ring of {}", fmt::join(rings, " and of ")));
  return all;
}

}  // namespace shardline
