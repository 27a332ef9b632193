#include "tools/generation/batch_times.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "runtime/base/statistics.h"

namespace shardline::tools {
namespace {

constexpr Index kMostSequences = 32;
/// Steps before those that count.
constexpr int kWarmSteps = 2;

Index sequences_of(const GenerationPhase& phase) { return phase.model.program.sizes.at("B"); }

/// Collective over all ranks: how long a step of the slowest rank takes.
Seconds timed_step(const Job& job, DecodeTrial& trial, std::vector<Seconds>& times) {
  const Seconds begin = now();
  trial.step();
  times.push_back(now() - begin);
  return Seconds(job.world().max(times.back().value));
}

/// Collective over all ranks: warm steps, then about half a second of steps, 3 at least.
std::vector<Seconds> timed_steps(const Job& job, DecodeTrial& trial) {
  std::vector<Seconds> warm, times;
  Seconds step;
  for (int i = 0; i < kWarmSteps; ++i) step = timed_step(job, trial, warm);
  const double wanted = step > Seconds() ? Seconds(0.5) / step : 15;
  const int count = static_cast<int>(std::clamp(wanted, 3.0, 15.0));
  for (int i = 0; i < count; ++i) timed_step(job, trial, times);
  return times;
}

}  // namespace

BatchTrials::BatchTrials(const Job& job, const TransformerConfig& config, const GenerationPlan& plan,
                         const MemoryNeed& need) {
  GenerationForm form = plan.form();
  for (form.sequences = 1; form.sequences <= kMostSequences; form.sequences *= 2) {
    if (form.sequences == plan.form().sequences) continue;
    GenerationPhase phase = decode_phase(config, form, job.mesh().axes(), form.decode);
    const TrialMemory more = trial_memory(plan, phase, job.mesh().rank());
    if (job.fits(need + MemoryNeed{.own = more.own, .shared = more.shared})) {
      phases_.push_back(std::move(phase));
      shared_ = std::max(shared_, more.shared);
    } else {
      left_out_.push_back({form.sequences, "they do not fit memory"});
    }
  }
}

BatchTimes BatchTrials::measure(Job& job, Generator& generator, BatchTime own, double seen, Seconds limit) {
  const roofline::Hardware& hardware = job.predictions();
  BatchTimes made{.measured = {}, .left_out = left_out_};
  const Seconds begin = now(), agreed(job.world().max(limit.value));
  double slower = 1;  // than predicted, in the last trial
  job.other_work().begin();
  for (const GenerationPhase& phase : phases_) {
    phase.compiled->predict_by(hardware);
    const Seconds predicted = phase.compiled->time().total;
    const Seconds spent(job.world().max((now() - begin).value));
    if (spent + predicted * (slower * (kWarmSteps + 3)) > agreed) {
      made.left_out.push_back({sequences_of(phase), "no time was left"});
      continue;
    }
    const std::unique_ptr<DecodeTrial> trial = DecodeTrial::make(generator, phase, seen);
    if (trial == nullptr) {
      made.left_out.push_back({sequences_of(phase), "a rank had no memory for their caches"});
      continue;
    }
    BatchTime measured{sequences_of(phase), timed_steps(job, *trial), predicted, bound_of(phase, seen, hardware)};
    slower = std::max(1.0, job.world().max(median(measured.times) / predicted));
    made.measured.push_back(std::move(measured));
  }
  job.other_work().end();
  if (!own.times.empty()) made.measured.push_back(std::move(own));
  std::sort(made.measured.begin(), made.measured.end(),
            [](const BatchTime& a, const BatchTime& b) { return a.sequences < b.sequences; });
  std::sort(made.left_out.begin(), made.left_out.end(),
            [](const auto& a, const auto& b) { return a.sequences < b.sequences; });
  return made;
}

Json measured_json(const BatchTimes& batches) {
  Json all = Json::array();
  for (const BatchTime& each : batches.measured) {
    const auto [least, most] = std::minmax_element(each.times.begin(), each.times.end());
    all.push_back({{"batch", each.sequences},
                   {"time_s", {{"min", least->value}, {"median", median(each.times).value}, {"max", most->value}}},
                   {"predicted_s", each.predicted.value},
                   {"bound_s", each.bound.bound().value}});
  }
  return all;
}

Json left_out_json(const BatchTimes& batches) {
  Json all = Json::array();
  for (const auto& each : batches.left_out) all.push_back({{"batch", each.sequences}, {"reason", each.reason}});
  return all;
}

}  // namespace shardline::tools
