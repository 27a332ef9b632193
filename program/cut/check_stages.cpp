#include "program/cut/check_stages.h"

#include <map>
#include <optional>
#include <string>

#include "program/ir/print.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace shardline {
namespace {

/// A value by how it was made: equal for equal steps on equal values.
using Origin = std::uint64_t;

/// One program in the walk.
class Walker {
 public:
  explicit Walker(const RankProgram& program) : program_(program), origins_(program.versions.size()) {
    for (const auto& [array, version] : program.inputs) {
      put(version, hash_of("input " + program.program.array(array).name));
    }
  }

  bool done() const { return at_ == program_.steps.size(); }
  const RankProgram& program() const { return program_; }
  const Step& step() const { return program_.steps[at_]; }
  std::string text() const { return done() ? "its end" : to_string(program_, step()); }

  /// Runs the steps up to the next move. True if there were some.
  bool run() {
    const std::size_t first = at_;
    while (!done() && !changes_stage(step().kind)) compute();
    return at_ > first;
  }

  Origin origin(VersionId version) const {
    const std::optional<Origin>& known = origins_[static_cast<std::size_t>(version)];
    SHARDLINE_CHECK(known.has_value(), "{} is read before it is there, at: {}", program_.array_of(version).name,
                    text());
    return *known;
  }

  /// The send of this program meets the receive of `other`.
  void hand_over(Walker& other) {
    const std::vector<VersionId>& sent = step().operands;
    const std::vector<VersionId>& received = other.step().results;
    SHARDLINE_CHECK(sent.size() == received.size(), "{} arrays are sent and {} received: {}", sent.size(),
                    received.size(), text());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const Version& from = program_.version(sent[i]);
      const Version& to = other.program_.version(received[i]);
      const Array& made = program_.array_of(sent[i]);
      const Array& wanted = other.program_.array_of(received[i]);
      SHARDLINE_CHECK(made.shape == wanted.shape && made.dtype == wanted.dtype && from.sharding == to.sharding,
                      "{} is sent, {} received: {}", made.name, wanted.name, text());
      other.put(received[i], origin(sent[i]));
    }
    ++at_;
    ++other.at_;
  }

 private:
  void put(VersionId version, Origin origin) { origins_[static_cast<std::size_t>(version)] = origin; }

  void compute() {
    const Step& s = step();
    std::string made =
        fmt::format("{} {} {} {} {}", kind_name(program_, s), s.operation, s.phase, s.from_dim, s.to_dim);
    for (const Axis& axis : s.axes) made += " " + axis;
    for (const Axes& axes : s.splits) made += " split " + to_string(axes);
    for (const VersionId v : s.operands) made += fmt::format(" {}", origin(v));
    for (std::size_t i = 0; i < s.results.size(); ++i) put(s.results[i], hash_of(fmt::format("{} result {}", made, i)));
    ++at_;
  }

  const RankProgram& program_;
  std::vector<std::optional<Origin>> origins_;  ///< by version
  std::size_t at_ = 0;
};

/// The move at the head of stage `stage`, if its other end stands there too.
bool meet(std::vector<Walker>& walkers, std::size_t stage) {
  Walker& sender = walkers[stage];
  if (sender.done() || sender.step().kind != StepKind::send) return false;
  Walker& receiver = walkers.at(static_cast<std::size_t>(sender.step().peer));
  if (receiver.done() || receiver.step().kind != StepKind::receive) return false;
  if (receiver.step().peer != static_cast<int>(stage)) return false;
  SHARDLINE_CHECK(sender.step().tag == receiver.step().tag, "stage {} sends number {}, stage {} receives number {}: {}",
                  stage, sender.step().tag, sender.step().peer, receiver.step().tag, sender.text());
  sender.hand_over(receiver);
  return true;
}

void walk(std::vector<Walker>& walkers) {
  while (true) {
    bool moved = false;
    for (std::size_t stage = 0; stage < walkers.size(); ++stage) {
      moved = walkers[stage].run() || moved;
      moved = meet(walkers, stage) || moved;
    }
    if (moved) continue;
    std::string waiting;
    for (std::size_t stage = 0; stage < walkers.size(); ++stage) {
      if (!walkers[stage].done()) waiting += fmt::format("; stage {} at {}", stage, walkers[stage].text());
    }
    SHARDLINE_CHECK(waiting.empty(), "stages wait for each other{}", waiting);
    return;
  }
}

}  // namespace

void check_stages(const RankProgram& uncut, const std::vector<const RankProgram*>& stages) {
  Walker whole(uncut);
  whole.run();
  std::vector<Walker> walkers;
  for (const RankProgram* stage : stages) walkers.emplace_back(*stage);
  walk(walkers);
  for (const Walker& walker : walkers) {
    const RankProgram& program = walker.program();
    for (const auto& [before, after] : program.program.updates) {
      SHARDLINE_CHECK(program.finals.contains(after), "a stage holds {} and does not update it",
                      program.program.array(before).name);
    }
  }
  for (const auto& [array, version] : uncut.finals) {
    int homes = 0;
    for (const Walker& walker : walkers) {
      const auto made = walker.program().finals.find(array);
      if (made == walker.program().finals.end()) continue;
      ++homes;
      SHARDLINE_CHECK(walker.origin(made->second) == whole.origin(version), "stage {} makes another {}",
                      walker.program().place ? walker.program().place->stage : 0, uncut.program.array(array).name);
    }
    SHARDLINE_CHECK(homes > 0, "no stage makes {}", uncut.program.array(array).name);
  }
}

}  // namespace shardline
