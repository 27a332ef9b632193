#include "program/plan/arena_plan.h"

#include <algorithm>

namespace shardline {
namespace {

constexpr Index kAlignment = 64;

/// Conversions in which ranks can read both sides from each other.
bool reads_peers(StepKind kind) {
  return kind == StepKind::all_gather || kind == StepKind::reduce_scatter || kind == StepKind::all_reduce ||
         kind == StepKind::all_to_all;
}

/// Storage that several versions share, and its lifetime.
struct Storage {
  Index bytes = 0;
  int made = 0;           ///< action
  int freed = 0;          ///< last action
  VersionId holder = -1;  ///< the latest version in this storage
  bool communicated = false;
  bool input = false;
};

class Planner {
 public:
  Planner(const RankProgram& program, const Liveness& liveness)
      : program_(program), liveness_(liveness), root_(program.versions.size()) {
    for (std::size_t v = 0; v < root_.size(); ++v) root_[v] = static_cast<VersionId>(v);
  }

  ArenaPlan plan() {
    for (const auto& [array, version] : program_.inputs) begin(version, 0).input = true;
    for (std::size_t i = 0; i < liveness_.schedule().actions.size(); ++i) visit(static_cast<int>(i));
    ArenaPlan plan;
    place(plan);
    for (std::size_t v = 0; v < root_.size(); ++v) {
      const auto place = plan.places.find(root_[v]);
      if (place != plan.places.end()) plan.places[static_cast<VersionId>(v)] = place->second;
    }
    return plan;
  }

 private:
  /// A key of storages_ that is no version.
  static VersionId bundle_key(int action) { return -1 - action; }
  static Index rounded(Index bytes) { return std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment); }
  const Step& step(int number) const { return program_.steps[static_cast<std::size_t>(number)]; }

  Index bytes_of(VersionId v) const { return static_cast<Index>(local_bytes(program_, v, 0).value); }

  Storage& begin(VersionId v, int number) {
    Storage& storage = storages_[v];
    storage.bytes = rounded(bytes_of(v));
    storage.holder = v;
    storage.made = number;
    storage.freed = static_cast<int>(liveness_.schedule().actions.size());
    return storage;
  }

  Storage& of(VersionId v) { return storages_.at(root_[static_cast<std::size_t>(v)]); }

  void visit(int at) {
    const Action& action = liveness_.schedule().actions[static_cast<std::size_t>(at)];
    if (action.kind != ActionKind::wait) {  // else the `start` made them
      for (const int number : action.steps) make_results(number, at);
    }
    if (action.kind == ActionKind::start && action.steps.size() > 1) bundle(action, at);
    if (action.steps.size() == 1 && reads_peers(step(action.steps[0]).kind)) {
      of(step(action.steps[0]).operands[0]).communicated = true;
      of(step(action.steps[0]).results[0]).communicated = true;
    }
    for (const VersionId v : liveness_.freed_after(at)) {
      if (of(v).holder == v) of(v).freed = at;
    }
  }

  void make_results(int number, int at) {
    const std::vector<VersionId>& results = step(number).results;
    for (std::size_t k = 0; k < results.size(); ++k) {
      const VersionId taken = liveness_.storage_taken(number, k);
      if (taken >= 0) {
        root_[static_cast<std::size_t>(results[k])] = root_[static_cast<std::size_t>(taken)];
        of(results[k]).holder = results[k];
      } else {
        begin(results[k], at);
      }
    }
  }

  /// Room for all_reduces that travel as one.
  void bundle(const Action& action, int at) {
    Storage& storage = storages_[bundle_key(at)];
    for (const int number : action.steps) storage.bytes += bytes_of(step(number).operands[0]);
    storage.bytes = rounded(storage.bytes);
    storage.made = at;
    storage.freed = liveness_.schedule().ends[static_cast<std::size_t>(action.steps[0])];
    storage.communicated = true;
  }

  void place(ArenaPlan& plan) const {
    std::vector<std::pair<VersionId, const Storage*>> order;
    for (const auto& [version, storage] : storages_) {
      if (!storage.communicated) continue;
      if (storage.input) {
        plan.inputs[version] = storage.bytes;
        plan.input_bytes += storage.bytes;
      } else {
        order.emplace_back(version, &storage);
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second->made < b.second->made; });
    std::vector<std::pair<Index, const Storage*>> live;  // by offset
    for (const auto& [version, storage] : order) {
      std::erase_if(live, [made = storage->made](const auto& other) { return other.second->freed < made; });
      Index offset = 0;
      auto next = live.begin();
      for (; next != live.end() && next->first - offset < storage->bytes; ++next) {
        offset = std::max(offset, next->first + next->second->bytes);
      }
      live.insert(next, {offset, storage});
      if (version >= 0) {
        plan.places[version] = offset;
      } else {
        plan.bundles[-1 - version] = offset;
      }
      plan.bytes = std::max(plan.bytes, offset + storage->bytes);
    }
  }

  const RankProgram& program_;
  const Liveness& liveness_;
  std::vector<VersionId> root_;            ///< by version: the version that owns its storage
  std::map<VersionId, Storage> storages_;  ///< by root, or by bundle_key()
};

}  // namespace

ArenaPlan plan_arena(const RankProgram& program, const Liveness& liveness) { return Planner(program, liveness).plan(); }

Bytes heap_peak(const ArenaPlan& plan, const Liveness& liveness, Index rank) {
  return liveness.peak(rank, [&](VersionId v) { return !plan.holds(v); });
}

}  // namespace shardline
