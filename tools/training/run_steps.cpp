#include "tools/training/run_steps.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/result_error.h"

namespace shardline::tools {
namespace {

void require_finite(Index step, const StepResult& result) {
  if (std::isfinite(result.loss) && std::isfinite(result.grad_norm)) return;
  throw ResultError(fmt::format("step {}: loss {}, gradient norm {}{}", step + 1, loss_number(result.loss),
                                loss_number(result.grad_norm), kDiverged));
}

void print_step(const Job& job, const Trainer& trainer, Index step, const StepResult& result) {
  job.print(fmt::format("step {:>5}  loss {:.4f}  grad_norm {:7.4f}  {:>8.0f} {}/s  {}\n", step + 1, result.loss,
                        result.grad_norm, trainer.options().tokens() / result.time.value, sample_name(trainer.run()),
                        to_string(result.time)));
}

void evaluate(const Job& job, Trainer& trainer, const SampleSource& data, Index step, RunLog& log) {
  Index read = 0;
  const double loss = trainer.evaluate(data, evaluation_batches(trainer.options().steps), read);
  job.print(fmt::format("step {:>5}  held-out loss {:.4f}\n", step + 1, loss));
  log.add_held_out(step + 1, loss);
}

}  // namespace

std::size_t warmup_of(Index planned_steps) { return planned_steps > 4 ? 2 : 0; }

std::string loss_number(double value) { return std::isnan(value) ? "NaN" : fmt::format("{}", value); }

const char* sample_name(const TrainingRun& run) {
  return std::holds_alternative<MlpConfig>(run.config) ? "samples" : "tokens";
}

Index evaluation_batches(Index steps) { return std::clamp<Index>(steps / 4, 5, 100); }

Progress run_steps(const Job& job, Trainer& trainer, const SampleSource& data, const RunOutputs& outputs) {
  Progress progress;
  const Index begin = trainer.run().begin.steps;
  const Index end = trainer.options().steps;
  const Index shown_every = end <= 50 ? 1 : end / 50;
  for (Index step = begin; step < end && !progress.interrupted; ++step) {
    const StepResult result = trainer.step(data, step);
    const bool last = step + 1 == end;
    progress.steps.push_back(result);
    progress.interrupted = result.stop && !last;
    const bool warm = progress.steps.size() == warmup_of(end - begin);
    if (warm && !progress.interrupted) trainer.forget_times();
    require_finite(step, result);
    if (step % shown_every == 0 || last || progress.interrupted) print_step(job, trainer, step, result);
    outputs.log.add(step + 1, result, trainer.options().tokens());
    const Index every = outputs.evaluate_every;
    if (every > 0 && (step + 1) % every == 0 && !progress.interrupted) {
      evaluate(job, trainer, data, step, outputs.log);
    }
    outputs.checkpoints.after(step, result, last || progress.interrupted);
  }
  return progress;
}

}  // namespace shardline::tools
