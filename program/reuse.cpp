#include "program/reuse.h"

#include <map>

namespace shardline {
namespace {

class Walk {
 public:
  Walk(const RankProgram& program, const ElementTypes& types) : program_(program), types_(types) {
    for (std::size_t v = 0; v < program.versions.size(); ++v) places_.push_back(static_cast<VersionId>(v));
    for (const auto& [before, after] : program.program.updates) {
      places_[static_cast<std::size_t>(program.finals.at(after))] = program.inputs.at(before);
    }
  }

  std::vector<std::vector<Bytes>> run() {
    std::vector<std::vector<Bytes>> distances;
    for (const Step& step : program_.steps) {
      std::vector<Bytes> of_step;
      for (const VersionId v : step.operands) of_step.push_back(distance(v));
      distances.push_back(std::move(of_step));
      for (const VersionId v : step.operands) touch(v);
      for (const VersionId v : step.results) touch(v);
    }
    return distances;
  }

 private:
  /// Updated state stands where the run after finds it.
  VersionId place(VersionId v) const { return places_[static_cast<std::size_t>(v)]; }

  Bytes bytes(VersionId v) const {
    const Index item = size_of(types_.of(program_.program, program_.version(v).array));
    return Bytes(static_cast<double>(element_count(local_shape(program_, v, 0)) * item));
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
  const ElementTypes& types_;
  std::vector<VersionId> places_;    ///< by version: the one whose storage it takes in the end
  std::map<VersionId, Bytes> last_;  ///< by place: bytes touched before its last use began
  Bytes touched_;
};

}  // namespace

std::vector<std::vector<Bytes>> reuse_distances(const RankProgram& program, const ElementTypes& types) {
  Walk walk(program, types);
  walk.run();  // what the run before has left
  return walk.run();
}

}  // namespace shardline
