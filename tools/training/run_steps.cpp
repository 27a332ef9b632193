#include "tools/training/run_steps.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/result_error.h"
#include "runtime/base/statistics.h"
#include "tools/training/slowdown.h"

namespace shardline::tools {
namespace {

void require_finite(Index step, const StepResult& result) {
  if (std::isfinite(result.loss) && std::isfinite(result.grad_norm)) return;
  throw ResultError(fmt::format("step {}: loss {}, gradient norm {}{}", step + 1, loss_number(result.loss),
                                loss_number(result.grad_norm), kDiverged));
}

/// The time of a step with the reading of its samples.
Seconds whole_time(const StepResult& step) { return step.time + step.data; }

/// The median of the last steps.
Seconds usual_time(const std::vector<StepResult>& done) {
  constexpr std::size_t kLast = 20;
  std::vector<Seconds> times;
  for (std::size_t i = done.size() - std::min(kLast, done.size()); i < done.size(); ++i) {
    times.push_back(whole_time(done[i]));
  }
  return median(std::move(times));
}

/// "2 h 5 min", for a person who waits.
std::string rounded_time(double seconds) {
  const auto whole = static_cast<Index>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

/// The time left is that of as many usual steps.
void print_step(Job& job, const Trainer& trainer, Index step, const std::vector<StepResult>& done) {
  const StepResult& result = done.back();
  const FlopsPerSecond peak = job.predictions().matmul * static_cast<double>(job.mesh().ranks());
  const Index left = trainer.options().steps - step - 1;
  std::string text = fmt::format(
      "step {:>5}  loss {:.4f}  grad_norm {:7.4f}  {:>8.0f} {}/s  {}  MFU {:.0f}%  {}", step + 1, result.loss,
      result.grad_norm, trainer.options().tokens() / whole_time(result).value, sample_name(trainer.run()),
      to_string(result.time), 100 * (trainer.run().flops_of_step() / result.time / peak), to_string(result.memory));
  if (left > 0) text += fmt::format("  {} left", rounded_time(static_cast<double>(left) * usual_time(done).value));
  job.print(text + "\n");
}

HeldOutLoss evaluate(const Job& job, Trainer& trainer, const SampleSource& data, Index step, RunLog& log) {
  Index read = 0;
  const double loss = trainer.evaluate(data, evaluation_batches(trainer.options().steps), read);
  job.print(fmt::format("step {:>5}  held-out loss {:.4f}\n", step + 1, loss));
  log.add_held_out(step + 1, loss);
  return {step + 1, loss};
}

/// Collective over all ranks if the steps have become slower, which all ranks see after the same step. `step` counts
/// from 0.
void watch(const Job& job, SlowdownWatch& seen, Index step, const RunOutputs& outputs, Progress& progress) {
  const StepResult& result = progress.steps.back();
  const std::optional<Slowdown> slower =
      seen.add({.all = whole_time(result), .work = result.own_time, .data = result.own_data});
  if (!slower) return;
  const std::vector<RankSlowdown> ranks = slowdown_of_ranks(job, *slower);
  const Index since = step + 1 - (seen.steps() - 1 - slower->since);
  progress.slower.push_back({since, slowdown_text(since, ranks)});
  job.note(progress.slower.back().text);
  outputs.log.add_slower(step + 1, since, progress.slower.back().text);
}

}  // namespace

std::size_t warmup_of(Index planned_steps) { return planned_steps > 4 ? 2 : 0; }

std::string loss_number(double value) { return std::isnan(value) ? "NaN" : fmt::format("{}", value); }

const char* sample_name(const TrainingRun& run) {
  return std::holds_alternative<MlpConfig>(run.config) ? "samples" : "tokens";
}

Index evaluation_batches(Index steps) { return std::clamp<Index>(steps / 4, 5, 100); }

Progress run_steps(Job& job, Trainer& trainer, const SampleSource& data, const RunOutputs& outputs) {
  Progress progress;
  const Index begin = trainer.run().begin.steps;
  const Index end = trainer.options().steps;
  const Index shown_every = end <= 50 ? 1 : end / 50;
  SlowdownWatch seen;
  for (Index step = begin; step < end && !progress.interrupted; ++step) {
    const StepResult result = trainer.step(data, step);
    const bool last = step + 1 == end;
    progress.steps.push_back(result);
    progress.interrupted = result.stop && !last;
    const bool warm = progress.steps.size() == warmup_of(end - begin);
    if (warm && !progress.interrupted) trainer.forget_times();
    require_finite(step, result);
    if (step % shown_every == 0 || last || progress.interrupted) print_step(job, trainer, step, progress.steps);
    outputs.log.add(step + 1, result, trainer.options().tokens());
    if (progress.steps.size() > warmup_of(end - begin)) watch(job, seen, step, outputs, progress);
    if (progress.steps.size() % kTimedSteps == 0) trainer.keep_times(kTimedSteps);
    const Index every = outputs.evaluate_every;
    if (every > 0 && (step + 1) % every == 0 && !progress.interrupted) {
      progress.held_out.push_back(evaluate(job, trainer, data, step, outputs.log));
    }
    outputs.checkpoints.after(step, result, last || progress.interrupted);
  }
  return progress;
}

}  // namespace shardline::tools
