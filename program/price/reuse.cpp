#include "program/price/reuse.h"

#include <map>
#include <set>

namespace shardline {
namespace {

class Walk {
 public:
  Walk(const RankProgram& program, const std::vector<StripSteps>& sweeps)
      : program_(program), sweep_of_(program.steps.size(), nullptr) {
    for (const StripSteps& sweep : sweeps) {
      for (const int step : sweep.steps) sweep_of_[static_cast<std::size_t>(step)] = &sweep;
      passing_.insert(sweep.passing.begin(), sweep.passing.end());
    }
    for (std::size_t v = 0; v < program.versions.size(); ++v) places_.push_back(static_cast<VersionId>(v));
    for (const auto& [before, after] : program.program.updates) {
      places_[static_cast<std::size_t>(program.finals.at(after))] = program.inputs.at(before);
    }
    find_last_readers();
  }

  std::vector<std::vector<Bytes>> run() {
    std::vector<std::vector<Bytes>> distances;
    current_ = nullptr;
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      std::vector<Bytes> of_step;
      for (const VersionId v : step.operands) of_step.push_back(distance(v));
      for (const VersionId v : step.results) {
        of_step.push_back(passing_.contains(v) ? sweep_of_[i]->strip : distance_of_room(v));
      }
      distances.push_back(std::move(of_step));
      if (sweep_of_[i] != nullptr) stay_near(step, *sweep_of_[i], distances.back());
      touch(step);
      for (const VersionId v : last_read_[i]) {
        if (!passing_.contains(v)) freed_[bytes(v)].push_back(last_.at(place(v)));
      }
    }
    return distances;
  }

 private:
  /// Shortens the distances of arrays that the sweep has touched.
  void stay_near(const Step& step, const StripSteps& sweep, std::vector<Bytes>& distances) {
    if (current_ != &sweep) near_.clear();
    current_ = &sweep;
    std::vector<VersionId> arrays = step.operands;
    arrays.insert(arrays.end(), step.results.begin(), step.results.end());
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      if (near_.contains(arrays[k])) distances[k] = sweep.strip;
    }
    near_.insert(arrays.begin(), arrays.end());
  }

  /// Updated state lies where the next run finds it.
  VersionId place(VersionId v) const { return places_[static_cast<std::size_t>(v)]; }

  Bytes bytes(VersionId v) const { return local_bytes(program_, v, 0); }

  /// By step: the versions that no later step reads and nothing keeps.
  void find_last_readers() {
    std::vector<int> last(program_.versions.size(), -1);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      for (const VersionId v : program_.steps[i].operands) last[static_cast<std::size_t>(v)] = static_cast<int>(i);
    }
    for (const auto& [array, v] : program_.inputs) last[static_cast<std::size_t>(v)] = -1;
    for (const auto& [array, v] : program_.finals) last[static_cast<std::size_t>(v)] = -1;
    last_read_.resize(program_.steps.size());
    for (std::size_t v = 0; v < last.size(); ++v) {
      if (last[v] >= 0) last_read_[static_cast<std::size_t>(last[v])].push_back(static_cast<VersionId>(v));
    }
  }

  /// The reuse distance of the memory that a result will take.
  Bytes distance_of_room(VersionId v) {
    if (place(v) != v) return distance(v);
    std::vector<Bytes>& rooms = freed_[bytes(v)];
    if (rooms.empty()) return touched_;
    const Bytes used = rooms.back();
    rooms.pop_back();
    return touched_ - used;
  }

  Bytes distance(VersionId v) const {
    const auto last = last_.find(place(v));
    return last == last_.end() ? touched_ : touched_ - last->second;
  }

  /// A kernel that writes a few elements of an array in place leaves the others where they are.
  void touch(const Step& step) {
    const bool writes_few = step.kind == StepKind::compute && program_.phase_of(step).kernel->only_in_place;
    for (const VersionId v : step.operands) {
      if (!writes_few || place(v) != place(step.results[0])) touch(v);
    }
    if (writes_few) return;
    for (const VersionId v : step.results) touch(v);
  }

  void touch(VersionId v) {
    last_[place(v)] = touched_;
    touched_ += bytes(v);
  }

  const RankProgram& program_;
  std::vector<VersionId> places_;                  ///< by version: the version whose storage it takes in the end
  std::map<VersionId, Bytes> last_;                ///< by place: bytes touched before its last use
  std::vector<std::vector<VersionId>> last_read_;  ///< by step
  std::map<Bytes, std::vector<Bytes>> freed_;      ///< by size: the last use of free memory
  std::vector<const StripSteps*> sweep_of_;        ///< by step; null: in none
  std::set<VersionId> passing_;                    ///< versions that never exist whole
  const StripSteps* current_ = nullptr;            ///< the last sweep that was walked
  std::set<VersionId> near_;                       ///< arrays of which it has just used a strip
  Bytes touched_;
};

}  // namespace

std::vector<std::vector<Bytes>> reuse_distances(const RankProgram& program, const std::vector<StripSteps>& sweeps) {
  Walk walk(program, sweeps);
  walk.run();  // the state after the run before
  return walk.run();
}

}  // namespace shardline
