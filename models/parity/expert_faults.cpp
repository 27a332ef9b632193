#include "models/parity/expert_faults.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/parity/stand_in.h"
#include "program/ops/expert_places.h"

namespace shardline {
namespace {

struct ScaledGradient : Right {
  static void run(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays) {
    right.run(block, arrays);
    const auto e = static_cast<std::size_t>(block.operation.index_named("E"));
    const auto own = static_cast<double>(std::max<Index>(1, block.ranges.at(e).size()));
    const double ranks = static_cast<double>(block.operation.extents.at(e)) / own;
    for (double& element : arrays.results[0]->view<double>()) element *= ranks;
  }
};

/// The operation with fewer places, in the same shares as the rank has sequences.
struct RoomOfRank : Right {
  static void run(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays) {
    const auto b = static_cast<std::size_t>(block.operation.index_named("B"));
    const auto share = static_cast<double>(block.ranges.at(b).size()) / static_cast<double>(block.operation.extents[b]);
    Operation fewer = block.operation;
    double& places = fewer.constants.at(kPlaces);
    places = std::max(1.0, std::floor(places * share));
    right.run({block.program, fewer, block.phase, block.ranges, block.continues}, arrays);
  }
};

struct NextExpert : Right {
  static void run(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays) {
    right.run(block, arrays);
    const auto experts = static_cast<std::int32_t>(block.range("R").size());
    for (std::int32_t& expert : arrays.results[1]->view<std::int32_t>()) expert = (expert + 1) % experts;
  }
};

struct RawGates : Right {
  static void run(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays) {
    right.run(block, arrays);
    const Index experts = block.range("R").size();
    const Index chosen = block.range("J").size();
    const auto probs = arrays.operands[0]->view<double>();
    const auto gate = arrays.results[0]->view<double>();
    const auto choice = arrays.results[1]->view<std::int32_t>();
    for (Index i = 0; i < gate.size(); ++i) gate[i] = probs[i / chosen * experts + choice[i]];
  }
};

struct NoGates : Right {
  static void run(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays) {
    std::vector<const Tensor*> operands = arrays.operands;
    Tensor ones = operands[1]->clone();
    for (double& gate : ones.view<double>()) gate = 1;
    operands[1] = &ones;
    right.run(block, {operands, arrays.results});
  }
};

/// The phases with the kernel of this name that run where index `split` is split; empty: anywhere.
std::set<PhaseNumber> phases_of(const RankProgram& program, std::string_view kernel, const std::string& split = "") {
  return phases_where(program, [&](const Step& step) {
    return program.phase_of(step).kernel->name == kernel && (split.empty() || is_split(program, step, split));
  });
}

}  // namespace

bool expert_gradient_scaled(RankProgram& program) {
  return stand_in<ScaledGradient>(program, phases_of(program, "expert_weight_grad", "E"));
}

bool drop_by_rank(RankProgram& program) {
  std::set<PhaseNumber> phases = phases_of(program, "slots", "B");
  std::erase_if(phases, [&](const PhaseNumber& phase) {  // the rank of the only sequence has all of them
    const Operation& op = program.program.operations.at(static_cast<std::size_t>(phase.first));
    return op.extents.at(static_cast<std::size_t>(op.index_named("B"))) < 2;
  });
  return stand_in<RoomOfRank>(program, phases);
}

bool wrong_expert(RankProgram& program) { return stand_in<NextExpert>(program, phases_of(program, "top_k")); }

bool gates_not_renormalised(RankProgram& program) { return stand_in<RawGates>(program, phases_of(program, "top_k")); }

bool combine_without_gate(RankProgram& program) { return stand_in<NoGates>(program, phases_of(program, "combine")); }

}  // namespace shardline
