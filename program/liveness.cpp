#include "program/liveness.h"

#include <algorithm>

namespace shardline {

Liveness::Liveness(const RankProgram& program)
    : program_(program),
      last_read_(program.versions.size(), -1),
      kept_(program.versions.size(), false),
      state_(program.versions.size(), false),
      freed_(program.steps.size()) {
  std::vector<int> last_touch(program.versions.size(), -1);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const int number = static_cast<int>(i);
    for (const VersionId v : program.steps[i].operands) {
      last_read_[static_cast<std::size_t>(v)] = last_touch[static_cast<std::size_t>(v)] = number;
    }
    for (const VersionId v : program.steps[i].results) last_touch[static_cast<std::size_t>(v)] = number;
  }
  for (const auto& [array, version] : program.inputs) kept_[static_cast<std::size_t>(version)] = true;
  for (const auto& [array, version] : program.finals) kept_[static_cast<std::size_t>(version)] = true;
  for (const auto& [before, after] : program.program.updates) {
    state_[static_cast<std::size_t>(program.inputs.at(before))] = true;
  }
  for (std::size_t v = 0; v < last_touch.size(); ++v) {
    if (!kept_[v] && last_touch[v] >= 0) {
      freed_[static_cast<std::size_t>(last_touch[v])].push_back(static_cast<VersionId>(v));
    }
  }
}

bool Liveness::replaceable(VersionId v, int number) const {
  const auto i = static_cast<std::size_t>(v);
  return last_read_[i] == number && (!kept_[i] || state_[i]);
}

VersionId Liveness::storage_taken(int number, std::size_t result) const {
  const Step& step = program_.steps[static_cast<std::size_t>(number)];
  VersionId operand = -1;
  if (step.kind == StepKind::all_reduce) operand = step.operands[0];
  if (step.kind == StepKind::compute && program_.phase_of(step).kernel == Kernel::adamw) {
    // Operands 0, 2 and 3 (parameter and moments) become results 0, 1 and 2.
    operand = step.operands[result == 0 ? 0 : result + 1];
  }
  return operand >= 0 && replaceable(operand, number) ? operand : -1;
}

Bytes Liveness::peak(const ElementTypes& types, Index rank) const {
  const auto bytes = [&](VersionId v) {
    const Index item = size_of(types.of(program_.program, program_.version(v).array));
    return item * element_count(local_shape(program_, v, rank));
  };
  Index live = 0;
  for (const auto& [array, version] : program_.inputs) live += bytes(version);
  Index most = live;
  std::vector<bool> owns(program_.versions.size(), true);  // false once another version has taken the storage
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    const int number = static_cast<int>(i);
    for (std::size_t k = 0; k < program_.steps[i].results.size(); ++k) {
      const VersionId taken = storage_taken(number, k);
      if (taken < 0) {
        live += bytes(program_.steps[i].results[k]);
      } else {
        owns[static_cast<std::size_t>(taken)] = false;
      }
    }
    most = std::max(most, live);
    for (const VersionId v : freed_after(number)) {
      if (owns[static_cast<std::size_t>(v)]) live -= bytes(v);
    }
  }
  return Bytes(static_cast<double>(most));
}

}  // namespace shardline
