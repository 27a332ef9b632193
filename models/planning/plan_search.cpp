#include "models/planning/plan_search.h"

#include <algorithm>
#include <deque>
#include <tuple>

#include "program/timetable/named.h"

namespace shardline {
namespace {

constexpr std::size_t kPricedPipelines = 8;  ///< of those that the closed form finds fastest
constexpr std::size_t kEnough = 12;          ///< candidates that fit and are faster: the rest need not be made to fit
constexpr Index kMostForEachStage = 4;       ///< micro-batches

/// A mesh, a strategy, and into how many micro-batches the batch is cut.
struct PlanWay {
  const ChipMesh* mesh = nullptr;
  Strategy strategy;
  Index micro_batches = 1;
  Seconds roughly = {};                      ///< by the closed form, with stages
  std::vector<Strategy> same_if_whole = {};  ///< other strategies that mean the same for one micro-batch
};

bool same_for_one_micro_batch(const Strategy& a, const Strategy& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.first == other.first && same_without_sums(one.second.row(), other.second.row());
  });
}

bool comes_first(const PlanCandidate& a, const PlanCandidate& b) {
  const auto key = [](const PlanCandidate& c) {
    return std::tuple(!c.fits(), static_cast<float>(c.step.scheduled.value), static_cast<float>(c.step.upper.value));
  };
  return key(a) < key(b);
}

class PlanSearcher {
 public:
  PlanSearcher(const StepPlanner& planner, const PlanSpace& space) : planner_(planner), space_(space) {}

  std::vector<PlanCandidate> run() {
    std::vector<PlanWay> plain, staged;
    for (const ChipMesh& mesh : space_.meshes) {
      for (const Index count : counts_for(mesh)) {
        const ChipMesh& fitted = fitting(mesh, count);
        for (const Strategy& strategy : strategies_on(fitted, space_.strategy)) {
          const bool stages = !stage_axis(strategy, fitted.mesh).empty();
          if (!stages) add_plain(plain, fitted, strategy, count);
          if (stages) staged.push_back(staged_way(fitted, strategy, count));
        }
      }
    }
    for (std::vector<PlanWay>* ways : {&plain, &staged}) {
      std::erase_if(*ways, [&](const PlanWay& way) { return !has_tokens(way) || !has_experts(way); });
    }
    std::stable_sort(staged.begin(), staged.end(),
                     [](const PlanWay& a, const PlanWay& b) { return a.roughly < b.roughly; });
    if (staged.size() > kPricedPipelines) staged.resize(kPricedPipelines);
    for (const PlanWay& way : staged) found_.push_back(with_less_kept(way));
    price_plain(plain);
    std::stable_sort(found_.begin(), found_.end(), comes_first);
    return std::move(found_);
  }

 private:
  Index sequences() const { return planner_.run().sequences(); }

  /// True if every rank gets tokens: sequences, or a part of one. A part of the heads goes to so many ranks that each
  /// has keys and values of a head.
  bool has_tokens(const PlanWay& way) const {
    const AbstractMesh& mesh = way.mesh->mesh;
    const bool by_heads = std::any_of(way.strategy.begin(), way.strategy.end(), [](const auto& each) {
      return shares_sequences(each.second.row()) && splits_heads(each.second.row());
    });
    return sequences() % way.micro_batches == 0 &&
           ranks_with(splits_batch, mesh, way.strategy) <= sequences() / way.micro_batches &&
           ranks_with(shares_sequences, mesh, way.strategy) <= planner_.run().sequence &&
           (!by_heads || ranks_with(splits_heads, mesh, way.strategy) <= planner_.run().config.kv_heads);
  }

  /// True if every rank gets experts where they are split. A given strategy may leave ranks without.
  bool has_experts(const PlanWay& way) const {
    const Index ranks = ranks_with(splits_experts, way.mesh->mesh, way.strategy);
    return ranks == 1 || !space_.strategy.empty() || ranks <= planner_.run().config.experts.count;
  }

  /// The mesh for micro-batches: as given, or with an axis that splits sequences if there are too few.
  const ChipMesh& fitting(const ChipMesh& mesh, Index micro_batches) {
    if (space_.as_given) return mesh;
    fitted_.push_back(with_context(mesh, sequences() / micro_batches));
    return fitted_.back();
  }

  /// Numbers of micro-batches to try. Without stages: one. For so many stages: the divisors of the batch next to powers
  /// of two, up to four for each stage.
  std::vector<Index> counts_for(const ChipMesh& mesh) const {
    if (space_.micro_batches) return {*space_.micro_batches};
    const Index stages = stages_of(mesh);
    if (stages == 1) return {1};
    std::vector<Index> counts;
    for (Index wanted = stages; wanted <= kMostForEachStage * stages; wanted *= 2) {
      Index count = std::min(wanted, sequences());
      while (sequences() % count != 0) --count;
      if (counts.empty() || count > counts.back()) counts.push_back(count);
    }
    return counts;
  }

  /// The stages of a mesh under the first strategy to try.
  Index stages_of(const ChipMesh& mesh) const {
    const Axis axis = stage_axis(strategies_on(mesh, space_.strategy).front(), mesh.mesh);
    return axis.empty() ? 1 : mesh.mesh.size(axis);
  }

  /// Of strategies that mean the same for one micro-batch the first is a way of its own.
  void add_plain(std::vector<PlanWay>& plain, const ChipMesh& mesh, const Strategy& strategy, Index count) const {
    const auto same = [&](const PlanWay& way) {
      return way.mesh == &mesh && same_for_one_micro_batch(way.strategy, strategy);
    };
    const auto found = count > 1 ? plain.end() : std::find_if(plain.begin(), plain.end(), same);
    if (found == plain.end()) {
      plain.push_back({&mesh, strategy, count});
    } else {
      found->same_if_whole.push_back(strategy);
    }
  }

  PlanWay staged_way(const ChipMesh& mesh, const Strategy& strategy, Index count) const {
    StagedForm form{.stages = stages_of(mesh), .micro_batches = count};
    form.mesh.x_torus_axes = form.mesh.y_torus_axes = 1;
    for (const auto& [axis, role] : strategy) {
      if (axis == kPodAxis || makes_stages(role.row())) continue;
      const bool x = splits_batch(role.row()) || shares_sequences(role.row());  // tokens are tokens
      (x ? form.mesh.x : form.mesh.y) *= static_cast<double>(mesh.mesh.size(axis));
      const auto laid = mesh.layout.find(axis);
      if (laid != mesh.layout.end() && !laid->second.empty()) {
        double& torus_axes = x ? form.mesh.x_torus_axes : form.mesh.y_torus_axes;
        torus_axes = std::max(torus_axes, static_cast<double>(laid->second.size()));
      }
      form.gathers = form.gathers || (x && splits_weights(role.row()));
      form.scatters = form.scatters || (x && splits_sums(role.row()));
    }
    return {&mesh, strategy, count, staged_time(space_.closed, form)};
  }

  PlanCandidate candidate(const PlanWay& way, PlannedStep step) const {
    return {std::move(step), way.mesh->layout, space_.closed.capacity};
  }

  /// Under one policy: of all timetables the fastest that fits.
  PlanCandidate priced(const PlanWay& way, Remat remat) const {
    std::vector<std::string> timetables{space_.timetable};
    if (space_.timetable.empty()) timetables = every_timetable();
    std::vector<PlanCandidate> each;
    for (PlannedStep& step : planner_.price_each(way.mesh->mesh, way.strategy, space_.hardware_of(*way.mesh),
                                                 {.micro_batches = way.micro_batches, .remat = remat}, timetables)) {
      each.push_back(candidate(way, std::move(step)));
    }
    return *std::min_element(each.begin(), each.end(), comes_first);
  }

  /// True if state and gradients alone leave room for activations.
  static bool can_fit(const PlanCandidate& made) {
    const RankMemory& memory = made.step.memory;
    return !made.knows_memory() || memory.weights + memory.optimizer + memory.update <= made.capacity;
  }

  /// The policy that repeats least and fits; if none does, the last one tried.
  PlanCandidate with_less_kept(const PlanWay& way) const {
    if (space_.remat) return priced(way, *space_.remat);
    PlanCandidate made = priced(way, Remat::none);
    for (const Remat remat : kRemats) {
      if (made.fits() || !can_fit(made)) return made;
      if (remat != Remat::none) made = priced(way, remat);
    }
    return made;
  }

  void price_plain(const std::vector<PlanWay>& ways) {
    std::vector<std::pair<PlanCandidate, PlanWay>> too_large;
    for (const PlanWay& way : ways) {
      PlanCandidate made = priced(way, space_.remat.value_or(Remat::none));
      if (made.fits()) {
        found_.push_back(std::move(made));
      } else {
        too_large.emplace_back(std::move(made), way);
      }
    }
    std::stable_sort(too_large.begin(), too_large.end(),
                     [](const auto& a, const auto& b) { return comes_first(a.first, b.first); });
    for (auto& [made, way] : too_large) {
      const bool enough = static_cast<std::size_t>(std::count_if(found_.begin(), found_.end(), [&](const auto& each) {
                            return each.fits() && each.step.scheduled <= made.step.scheduled;
                          })) >= kEnough;
      found_.push_back(enough ? std::move(made) : made_to_fit(std::move(made), way));
    }
  }

  /// The fastest of what fits: with less kept, or with more micro-batches.
  PlanCandidate made_to_fit(PlanCandidate made, const PlanWay& way) const {
    if (!can_fit(made)) return made;
    PlanCandidate best = with_less_kept(way);
    if (space_.micro_batches) return best;
    best = with_more_micro_batches(std::move(best), way);
    for (const Strategy& strategy : way.same_if_whole) {
      PlanWay other = way;
      other.strategy = strategy;
      best = with_more_micro_batches(std::move(best), std::move(other));
    }
    return best;
  }

  /// `best`, or what is faster and fits with more micro-batches.
  PlanCandidate with_more_micro_batches(PlanCandidate best, PlanWay way) const {
    for (way.micro_batches = 2; way.micro_batches <= sequences() && has_tokens(way); way.micro_batches *= 2) {
      PlanCandidate cut = priced(way, space_.remat.value_or(Remat::none));
      if (!cut.fits() && !best.fits()) cut = with_less_kept(way);
      if (comes_first(cut, best)) best = cut;
      if (cut.fits() || !can_fit(cut)) break;
    }
    return best;
  }

  const StepPlanner& planner_;
  const PlanSpace& space_;
  std::deque<ChipMesh> fitted_;  ///< that ways point to
  std::vector<PlanCandidate> found_;
};

}  // namespace

std::vector<PlanCandidate> search_plans(const StepPlanner& planner, const PlanSpace& space) {
  return PlanSearcher(planner, space).run();
}

}  // namespace shardline
