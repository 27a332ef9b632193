#include "program/price/reuse.h"

#include <map>

namespace shardline {
namespace {

class Walk {
 public:
  Walk(const RankProgram& program) : program_(program) {
    for (std::size_t v = 0; v < program.versions.size(); ++v) places_.push_back(static_cast<VersionId>(v));
    for (const auto& [before, after] : program.program.updates) {
      places_[static_cast<std::size_t>(program.finals.at(after))] = program.inputs.at(before);
    }
    find_last_readers();
  }

  std::vector<std::vector<Bytes>> run() {
    std::vector<std::vector<Bytes>> distances;
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      std::vector<Bytes> of_step;
      for (const VersionId v : step.operands) of_step.push_back(distance(v));
      for (const VersionId v : step.results) of_step.push_back(distance_of_room(v));
      distances.push_back(std::move(of_step));
      for (const VersionId v : step.operands) touch(v);
      for (const VersionId v : step.results) touch(v);
      for (const VersionId v : last_read_[i]) freed_[bytes(v)].push_back(last_.at(place(v)));
    }
    return distances;
  }

 private:
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

  void touch(VersionId v) {
    last_[place(v)] = touched_;
    touched_ += bytes(v);
  }

  const RankProgram& program_;
  std::vector<VersionId> places_;                  ///< by version: the version whose storage it takes in the end
  std::map<VersionId, Bytes> last_;                ///< by place: bytes touched before its last use
  std::vector<std::vector<VersionId>> last_read_;  ///< by step
  std::map<Bytes, std::vector<Bytes>> freed_;      ///< by size: the last use of free memory
  Bytes touched_;
};

}  // namespace

std::vector<std::vector<Bytes>> reuse_distances(const RankProgram& program) {
  Walk walk(program);
  walk.run();  // the state after the run before
  return walk.run();
}

}  // namespace shardline
