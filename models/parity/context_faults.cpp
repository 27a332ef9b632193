#include "models/parity/context_faults.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/reduce.h"
#include "models/parity/stand_in.h"

namespace shardline {
namespace {

constexpr std::string_view kAttentionName = "attention";
constexpr std::string_view kAttentionGradName = "attention_grad";

/// The number of the operand that holds positions. In attention they are those of queries; those of keys come next,
/// then the starts of documents if there are any.
std::size_t positions_of(const KernelArrays& arrays) {
  const auto is_place = [](const Tensor* array) { return array->dtype() == DType::i32; };
  return static_cast<std::size_t>(std::find_if(arrays.operands.begin(), arrays.operands.end(), is_place) -
                                  arrays.operands.begin());
}

/// A document that began before the block begins with the block, or tokens would turn by less than 0.
struct OffsetRope : Right {
  static void run(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays) {
    std::vector<const Tensor*> operands = arrays.operands;
    const std::size_t first = positions_of(arrays);
    const auto positions = operands[first]->view<std::int32_t>();
    if (positions.size() == 0) return right.run(block, arrays);
    const std::int32_t earliest = *std::min_element(positions.begin(), positions.end());
    std::vector<Tensor> shifted;
    for (std::size_t k = first; k < operands.size(); ++k) shifted.push_back(operands[k]->clone());
    for (std::size_t k = first; k < operands.size(); ++k) {
      Tensor& places = shifted[k - first];
      for (std::int32_t& place : places.view<std::int32_t>()) place = std::max(place - earliest, 0);
      operands[k] = &places;
    }
    right.run(block, {operands, arrays.results});
  }
};

struct LeakyAttention : Right {
  static void run(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays) {
    right.run(block, {without_starts(arrays), arrays.results});
  }
  static void visit(const BlockwiseKernel& right, const KernelArrays& arrays) {
    right.visit({without_starts(arrays), arrays.results});
  }

 private:
  static std::vector<const Tensor*> without_starts(const KernelArrays& arrays) {
    std::vector<const Tensor*> operands = arrays.operands;
    operands.resize(positions_of(arrays) + 2);
    return operands;
  }
};

/// The block alone gives a state, and both states are added.
struct AddedStates : Right {
  static void visit(const BlockwiseKernel& right, const KernelArrays& arrays) {
    std::vector<Tensor> alone;
    for (const Tensor* array : arrays.results) alone.emplace_back(array->dtype(), array->shape());
    std::vector<Tensor*> made;
    for (Tensor& array : alone) made.push_back(&array);
    right.begin(made);
    right.visit({arrays.operands, made});
    constexpr std::array<ReduceOp, 3> kJoined = {ReduceOp::sum, ReduceOp::max, ReduceOp::sum};  // see AttentionState
    for (std::size_t k = 0; k < made.size(); ++k) {
      Tensor& state = *arrays.results[k];
      const std::array<kernels::Source, 2> both{{{state.dtype(), state.data()}, {state.dtype(), made[k]->data()}}};
      kernels::combine(kJoined.at(k), both, {state.dtype(), state.data()}, state.size());
    }
  }
};

/// The model of parity is so small that a visit has all queries of the rank. So their positions are those of its block.
struct MisplacedKeys : Right {
  static void visit(const BlockwiseKernel& right, const KernelArrays& arrays) {
    const std::size_t first = positions_of(arrays);
    const auto own = arrays.operands[first]->view<std::int32_t>();
    Tensor places = arrays.operands[first + 1]->clone();
    const auto keys = places.view<std::int32_t>();
    if (own.size() == 0 || std::find(own.begin(), own.end(), keys[0]) != own.end()) return right.visit(arrays);
    for (Index i = 0; i < keys.size(); ++i) keys[i] = own[i % own.size()];
    std::vector<const Tensor*> operands = arrays.operands;
    operands[first + 1] = &places;
    right.visit({operands, arrays.results});
  }
};

/// The phases that run as rings.
std::set<PhaseNumber> ring_phases(const RankProgram& program, const ProgramSchedule& schedule) {
  std::set<PhaseNumber> phases;
  for (const auto& [action, ring] : schedule.rings) {
    const Step& step = program.steps.at(static_cast<std::size_t>(ring.computation));
    phases.emplace(step.operation, step.phase);
  }
  return phases;
}

}  // namespace

bool position_offset(RankProgram& program) {
  return stand_in<OffsetRope>(program, phases_where(program, [&](const Step& step) {
                                return program.phase_of(step).kernel->name == "rope" && is_split(program, step, "T");
                              }));
}

bool document_leak(RankProgram& program) {
  return stand_in<LeakyAttention>(
      program, phases_where(program, [&](const Step& step) {
        const Phase& phase = program.phase_of(step);
        if (phase.kernel->name != kAttentionName && phase.kernel->name != kAttentionGradName) return false;
        return std::any_of(phase.operands.begin(), phase.operands.end(),
                           [&](ArrayId array) { return program.program.array(array).role == Role::tokens; });
      }));
}

bool ring_not_rescaled(RankProgram& program, const ProgramSchedule& schedule) {
  std::set<PhaseNumber> phases = ring_phases(program, schedule);
  const std::set<PhaseNumber> forward =
      phases_where(program, [&](const Step& step) { return program.phase_of(step).kernel->name == kAttentionName; });
  std::erase_if(phases, [&](const PhaseNumber& phase) { return !forward.contains(phase); });
  return stand_in<AddedStates>(program, phases);
}

bool wrong_hop(RankProgram& program, const ProgramSchedule& schedule) {
  return stand_in<MisplacedKeys>(program, ring_phases(program, schedule));
}

}  // namespace shardline
