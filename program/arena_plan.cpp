#include "program/arena_plan.h"

#include <algorithm>

namespace shardline {
namespace {

constexpr Index kAlignment = 64;

/// Conversions whose two sides ranks can read from each other.
bool reads_peers(StepKind kind) {
  return kind == StepKind::all_gather || kind == StepKind::reduce_scatter || kind == StepKind::all_reduce ||
         kind == StepKind::all_to_all;
}

/// The storage that versions share, and how long it is in use.
struct Storage {
  Index bytes = 0;
  int made = 0;           ///< step
  int freed = 0;          ///< last step
  VersionId holder = -1;  ///< the last version that has taken it
  bool communicated = false;
  bool input = false;
};

class Planner {
 public:
  Planner(const RankProgram& program, const ElementTypes& types, const Liveness& liveness)
      : program_(program), types_(types), liveness_(liveness), root_(program.versions.size()) {
    for (std::size_t v = 0; v < root_.size(); ++v) root_[v] = static_cast<VersionId>(v);
  }

  ArenaPlan plan() {
    for (const auto& [array, version] : program_.inputs) begin(version, 0).input = true;
    for (std::size_t i = 0; i < program_.steps.size(); ++i) visit(static_cast<int>(i));
    ArenaPlan plan;
    place(plan);
    for (std::size_t v = 0; v < root_.size(); ++v) {
      const auto place = plan.places.find(root_[v]);
      if (place != plan.places.end()) plan.places[static_cast<VersionId>(v)] = place->second;
    }
    return plan;
  }

 private:
  Storage& begin(VersionId v, int number) {
    const Index item = size_of(types_.of(program_.program, program_.version(v).array));
    const Index bytes = item * element_count(local_shape(program_, v, 0));  // rank 0 holds the largest block
    Storage& storage = storages_[v];
    storage.bytes = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
    storage.holder = v;
    storage.made = number;
    storage.freed = static_cast<int>(program_.steps.size());
    return storage;
  }

  Storage& of(VersionId v) { return storages_.at(root_[static_cast<std::size_t>(v)]); }

  void visit(int number) {
    const Step& step = program_.steps[static_cast<std::size_t>(number)];
    for (std::size_t k = 0; k < step.results.size(); ++k) {
      const VersionId taken = liveness_.storage_taken(number, k);
      const VersionId result = step.results[k];
      if (taken >= 0) {
        root_[static_cast<std::size_t>(result)] = root_[static_cast<std::size_t>(taken)];
        of(result).holder = result;
      } else {
        begin(result, number);
      }
    }
    if (reads_peers(step.kind)) {
      of(step.operands[0]).communicated = true;
      of(step.results[0]).communicated = true;
    }
    for (const VersionId v : liveness_.freed_after(number)) {
      if (of(v).holder == v) of(v).freed = number;
    }
  }

  void place(ArenaPlan& plan) const {
    std::vector<std::pair<VersionId, const Storage*>> order;
    for (const auto& [version, storage] : storages_) {
      if (!storage.communicated) continue;
      if (storage.input) {
        plan.inputs.insert(version);
        plan.input_bytes += storage.bytes;
      } else {
        order.emplace_back(version, &storage);
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second->made < b.second->made; });
    std::vector<std::pair<Index, const Storage*>> live;  // by offset
    for (const auto& [version, storage] : order) {
      std::erase_if(live, [&](const auto& other) { return other.second->freed < storage->made; });
      Index offset = 0;
      auto next = live.begin();
      for (; next != live.end() && next->first - offset < storage->bytes; ++next) {
        offset = std::max(offset, next->first + next->second->bytes);
      }
      live.insert(next, {offset, storage});
      plan.places[version] = offset;
      plan.bytes = std::max(plan.bytes, offset + storage->bytes);
    }
  }

  const RankProgram& program_;
  const ElementTypes& types_;
  const Liveness& liveness_;
  std::vector<VersionId> root_;            ///< by version: whose storage it lies in
  std::map<VersionId, Storage> storages_;  ///< by root
};

}  // namespace

ArenaPlan plan_arena(const RankProgram& program, const ElementTypes& types, const Liveness& liveness) {
  return Planner(program, types, liveness).plan();
}

}  // namespace shardline
