#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/parity/masked_text.h"
#include "program/ir/rank_program.h"
#include "program/plan/schedule.h"
#include "program/run/state.h"

namespace shardline {

/// A fault that systems which train or generate have had. Parity plants it on purpose, to show that it would be found.
struct Fault {
  std::string name;     ///< as in --break
  std::string meaning;  ///< one sentence
  /// Changes the checked program of a training step. False: this program has no place for the fault. Null: the fault is
  /// not in the program.
  bool (*in_program)(RankProgram& program) = nullptr;
  /// As in_program, where the fault needs rings. `schedule` is that of the program.
  bool (*in_rings)(RankProgram& program, const ProgramSchedule& schedule) = nullptr;
  /// Changes the state of a rank after its first step, given the blocks before it. False as above. Not collective.
  bool (*in_state)(const RankProgram& program, State& state, const std::map<std::string, Tensor>& before) = nullptr;
  /// Stands between a rank and the samples of a layout in which only some labels count. `tokens`: in a sample.
  std::unique_ptr<FaultySamples> (*in_samples)(const SampleSource& data, Index tokens) = nullptr;
  /// As in_program, in the programs of prefill and of decode. Such a fault has no place in training.
  bool (*in_generation)(RankProgram& program) = nullptr;
};

/// The faults that can be planted.
const std::vector<Fault>& faults();

/// Throws UsageError with all names and meanings if there is no such fault.
const Fault& fault_named(const std::string& name);

/// A line for each fault: its name and what it means.
std::string fault_list();

}  // namespace shardline
