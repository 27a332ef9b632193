#include "program/plan/liveness.h"

#include <algorithm>
#include <set>

#include "program/plan/sweeps.h"

namespace shardline {

Liveness::Liveness(const RankProgram& program, const ProgramSchedule& schedule)
    : program_(program),
      schedule_(schedule),
      readers_(program.versions.size()),
      kept_(program.versions.size(), false),
      state_(program.versions.size(), false),
      freed_(schedule.actions.size()),
      passes_(program.versions.size(), false),
      left_out_(program.versions.size(), false) {
  std::vector<int> last_touch(program.versions.size(), -1);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const auto touch = [&, end = schedule.ends[i]](VersionId v) {
      int& last = last_touch[static_cast<std::size_t>(v)];
      last = std::max(last, end);
    };
    for (const VersionId v : program.steps[i].operands) {
      readers_[static_cast<std::size_t>(v)].push_back(static_cast<int>(i));
      touch(v);
    }
    for (const VersionId v : program.steps[i].results) touch(v);
  }
  for (const auto& [action, ring] : schedule.rings) {  // every ring reads what its gathers would read
    for (const int gather : ring.gathers) {
      const VersionId v = program.steps[static_cast<std::size_t>(gather)].operands[0];
      int& last = last_touch[static_cast<std::size_t>(v)];
      last = std::max(last, action);
      readers_[static_cast<std::size_t>(v)].push_back(ring.computation);
    }
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
  find_passing();
  find_left_out();
}

void Liveness::find_left_out() {
  for (const auto& [action, ring] : schedule_.rings) {
    for (const int gather : ring.gathers) {
      left_out_[static_cast<std::size_t>(program_.steps[static_cast<std::size_t>(gather)].results[0])] = true;
    }
    for (const int scatter : ring.scatters) {
      left_out_[static_cast<std::size_t>(program_.steps[static_cast<std::size_t>(scatter)].operands[0])] = true;
    }
  }
}

void Liveness::find_passing() {
  for (std::size_t i = 0; i < schedule_.actions.size(); ++i) {
    const Action& action = schedule_.actions[i];
    if (action.kind != ActionKind::sweep) continue;
    const Strips strips(program_, action.steps, schedule_.strip_bytes, 0);
    std::set<VersionId> made, shared;  // `shared`: in one memory with another version, which may stay
    for (const int number : action.steps) {
      const std::vector<VersionId>& results = program_.steps[static_cast<std::size_t>(number)].results;
      for (std::size_t k = 0; k < results.size(); ++k) {
        made.insert(results[k]);
        const VersionId taken = storage_taken(number, k);
        if (taken >= 0) shared.insert({taken, results[k]});
      }
    }
    for (const VersionId v : freed_[i]) {
      passes_[static_cast<std::size_t>(v)] = made.contains(v) && strips.cuts(v) && !shared.contains(v);
    }
  }
}

std::vector<StripSteps> Liveness::strip_steps() const {
  std::vector<StripSteps> sweeps;
  for (const Action& action : schedule_.actions) {
    if (action.kind != ActionKind::sweep) continue;
    StripSteps& sweep = sweeps.emplace_back();
    sweep.steps = action.steps;
    sweep.strip = Strips(program_, action.steps, schedule_.strip_bytes, 0).strip_bytes();
    for (const int number : action.steps) {
      for (const VersionId v : program_.steps[static_cast<std::size_t>(number)].results) {
        if (passes(v)) sweep.passing.push_back(v);
      }
    }
  }
  return sweeps;
}

/// True if every other reader of `v` has ended before step `number` begins.
bool Liveness::replaceable(VersionId v, int number) const {
  const auto i = static_cast<std::size_t>(v);
  if (kept_[i] && !state_[i]) return false;
  const int begin = schedule_.begins[static_cast<std::size_t>(number)];
  return std::all_of(readers_[i].begin(), readers_[i].end(), [&](int reader) {
    return reader == number || schedule_.ends[static_cast<std::size_t>(reader)] < begin;
  });
}

VersionId Liveness::storage_taken(int number, std::size_t result) const {
  const Step& step = program_.steps[static_cast<std::size_t>(number)];
  VersionId operand = -1;
  if (step.kind == StepKind::all_reduce) operand = step.operands[0];
  if (step.kind == StepKind::compute) {
    const std::array<int, 3>& in_place = program_.phase_of(step).kernel->in_place;
    if (result < in_place.size() && in_place[result] >= 0) {
      operand = step.operands[static_cast<std::size_t>(in_place[result])];
    }
  }
  return operand >= 0 && replaceable(operand, number) ? operand : -1;
}

Bytes Liveness::peak(Index rank, const Counted& counted) const {
  Bytes most;
  for (const auto& [pass, bytes] : peaks(rank, counted)) most = std::max(most, bytes);
  return most;
}

std::map<Pass, Bytes> Liveness::peaks(Index rank, const Counted& counted) const {
  std::map<VersionId, double> strip_of;  // bytes, by version that passes
  for (const Action& action : schedule_.actions) {
    if (action.kind != ActionKind::sweep) continue;
    const Strips strips(program_, action.steps, schedule_.strip_bytes, rank);
    for (const int number : action.steps) {
      for (const VersionId v : program_.steps[static_cast<std::size_t>(number)].results) {
        if (passes(v)) strip_of[v] = strips.part(local_bytes(program_, v, rank)).value;
      }
    }
  }
  const auto bytes = [&](VersionId v) {
    if (left_out(v) || (counted && !counted(v))) return 0.0;
    const auto strip = strip_of.find(v);
    return strip == strip_of.end() ? local_bytes(program_, v, rank).value : strip->second;
  };
  const auto bundled = [&](const Action& action) {  // the buffer of arrays that travel as one
    std::vector<VersionId> together;
    for (const int number : action.steps) {
      const Step& step = program_.steps[static_cast<std::size_t>(number)];
      const bool receives = step.kind == StepKind::receive;
      const bool moves = changes_stage(step.kind);
      if (!moves) together.push_back(step.operands[0]);
      if (moves) together = receives ? step.results : step.operands;
    }
    double sum = 0;
    for (const VersionId v : together) sum += bytes(v);
    return together.size() > 1 ? sum : 0.0;
  };
  double live = 0;  // a double: 64 bits would overflow for arrays that no machine can hold
  for (const auto& [array, version] : program_.inputs) live += bytes(version);
  std::map<Pass, Bytes> most{{Pass::forward, Bytes(live)}};
  std::vector<bool> owns(program_.versions.size(), true);  // false once another version has its storage
  for (std::size_t i = 0; i < schedule_.actions.size(); ++i) {
    const Action& action = schedule_.actions[i];
    if (action.kind == ActionKind::start) live += bundled(action);
    for (const int number : action.steps) {
      if (action.kind == ActionKind::wait) break;  // the `start` made its results
      const Step& step = program_.steps[static_cast<std::size_t>(number)];
      for (std::size_t k = 0; k < step.results.size(); ++k) {
        const VersionId taken = storage_taken(number, k);
        if (taken < 0) {
          live += bytes(step.results[k]);
        } else {
          owns[static_cast<std::size_t>(taken)] = false;
        }
      }
    }
    const auto ring = schedule_.rings.find(static_cast<int>(i));
    const double on_the_way = ring == schedule_.rings.end() ? 0.0 : ring_bytes(program_, ring->second, rank).value;
    live += on_the_way;
    Bytes& of_pass = most[program_.steps[static_cast<std::size_t>(action.steps[0])].region.pass];
    of_pass = std::max(of_pass, Bytes(live));
    live -= on_the_way;
    if (action.kind == ActionKind::wait) live -= bundled(action);
    for (const VersionId v : freed_after(static_cast<int>(i))) {
      if (owns[static_cast<std::size_t>(v)]) live -= bytes(v);
    }
  }
  return most;
}

}  // namespace shardline
