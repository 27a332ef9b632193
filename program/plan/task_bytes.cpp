#include "program/plan/task_bytes.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardline {
namespace {

using Versions = std::set<VersionId>;

/// Versions that stay between the tasks of a chunk. Inputs and sums are not among them.
class LeftBetween {
 public:
  LeftBetween(const Cut& cut, const Liveness& live, int chunk) : cut_(cut), live_(live) {
    for (const VersionId v : read_by({TaskKind::backward, chunk})) {
      if (program().version(v).region.pass == Pass::forward && counts(v)) activations_.insert(v);
    }
    const Versions early = made_by({TaskKind::inputs, chunk});
    for (const VersionId v : read_by({TaskKind::weights, chunk})) {
      if (activations_.contains(v)) for_weights_.insert(v);
      if (early.contains(v) && counts(v)) gradients_.insert(v);
    }
  }

  const Versions& activations() const { return activations_; }
  const Versions& for_weights() const { return for_weights_; }
  const Versions& gradients() const { return gradients_; }

 private:
  const RankProgram& program() const { return cut_.micro(); }
  const Step& step(int number) const { return program().steps[static_cast<std::size_t>(number)]; }

  Versions made_by(const ChunkTask& task) const {
    Versions made;
    for (const int number : cut_.steps(task)) made.insert(step(number).results.begin(), step(number).results.end());
    return made;
  }

  Versions read_by(const ChunkTask& task) const {
    Versions read;
    for (const int number : cut_.steps(task)) {
      for (const VersionId v : step(number).operands) {
        if (!live_.left_out(v)) read.insert(v);
      }
    }
    for (const auto& [action, ring] : live_.schedule().rings) {  // a ring reads what its gathers would read
      const std::vector<int>& steps = cut_.steps(task);
      if (std::find(steps.begin(), steps.end(), ring.computation) == steps.end()) continue;
      for (const int gather : ring.gathers) read.insert(step(gather).operands[0]);
    }
    return read;
  }

  bool counts(VersionId v) const {
    const ArrayId array = program().version(v).array;
    return !program().inputs.contains(array) && program().program.array(array).role != Role::sum;
  }

  const Cut& cut_;
  const Liveness& live_;  ///< of the uncut program
  Versions activations_;
  Versions for_weights_;
  Versions gradients_;
};

Bytes sum_of(const RankProgram& program, const Versions& versions) {
  Bytes sum;
  for (const VersionId v : versions) sum += local_bytes(program, v, 0);
  return sum;
}

/// Versions that the update reads and a task has made.
Versions made_for_update(const RankProgram& program) {
  Versions wanted;
  Versions made;
  for (const Step& step : program.steps) {
    const bool update = step.region.pass == Pass::update;
    Versions& list = update ? wanted : made;
    const std::vector<VersionId>& versions = update ? step.operands : step.results;
    list.insert(versions.begin(), versions.end());
  }
  std::erase_if(wanted, [&](VersionId v) { return !made.contains(v); });
  return wanted;
}

}  // namespace

ChunkBytes chunk_bytes(const Cut& cut, const Liveness& live) {
  const RankProgram& program = cut.micro();
  const auto chunks = static_cast<int>(cut.layers().place.size());
  Versions apart = made_for_update(program);
  for (const auto& [array, version] : program.inputs) apart.insert(version);
  Versions gradients;
  ChunkBytes bytes;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const LeftBetween left(cut, live, chunk);
    bytes.activations.push_back(sum_of(program, left.activations()));
    bytes.for_weights.push_back(sum_of(program, left.for_weights()));
    bytes.gradients.push_back(sum_of(program, left.gradients()));
    apart.insert(left.activations().begin(), left.activations().end());
    gradients.insert(left.gradients().begin(), left.gradients().end());
  }
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const auto passing = [&](VersionId v) {
      const auto layer = static_cast<std::size_t>(program.version(v).region.layer);
      return cut.layers().chunk_of[layer] == chunk && !apart.contains(v);
    };
    const auto passing_split = [&](VersionId v) { return passing(v) && !gradients.contains(v); };
    std::map<Pass, Bytes> peaks = live.peaks(0, passing);
    bytes.working_forward.push_back(peaks[Pass::forward]);
    bytes.working_backward.push_back(peaks[Pass::backward]);
    bytes.working_split.push_back(live.peaks(0, passing_split)[Pass::backward]);
  }
  return bytes;
}

std::vector<StepArray> step_arrays(const Cut& cut) {
  const RankProgram& program = cut.micro();
  std::vector<StepArray> arrays;
  for (const auto& [array, version] : program.inputs) {
    Role role = program.program.array(array).role;
    if (role == Role::master) role = Role::parameter;
    if (role != Role::parameter && role != Role::optimizer_state) continue;
    arrays.push_back({role, cut.homes(array), local_bytes(program, version, 0)});
  }
  for (const VersionId v : made_for_update(program)) {
    if (program.inputs.contains(program.version(v).array)) continue;
    StepArray gradient{Role::gradient, {}, local_bytes(program, v, 0)};
    for (int stage = 0; stage < cut.stages(); ++stage) {
      if (cut.has(v, stage)) gradient.chunks.insert(cut.layers().place[static_cast<std::size_t>(stage)]);
    }
    arrays.push_back(std::move(gradient));
  }
  return arrays;
}

}  // namespace shardline
