#include "tools/training/run_checkpoints.h"

#include <CLI/CLI.hpp>

#include <utility>

#include "models/checkpoint/step_folders.h"
#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/host/interrupt.h"
#include "runtime/trace/clock.h"
#include "tools/options/common_options.h"
#include "tools/options/number_option.h"

namespace shardline::tools {

void add_checkpoint_options(CLI::App& command, CheckpointFlags& flags) {
  add_whole_option(
      command,
      {.name = "--save-every",
       .help = "Steps from one checkpoint to the next, in DIR/step-N of --save; the last step has one too"},
      flags.every);
  add_whole_option(command, {.name = "--keep", .help = "Checkpoints that stay, the newest ones; default all"},
                   flags.keep);
  command
      .add_option(
          "--resume", flags.resume,
          "Go on from the newest checkpoint in this folder of --save, or from one step-N, on any mesh. If it is "
          "the folder of --save and holds none yet, the run begins")
      ->check(not_empty());
}

CheckpointOptions checkpoint_options(const CheckpointFlags& flags, const std::string& save) {
  require(!flags.every || !save.empty(), "--save-every {}: --save DIR must say where", flags.every.value_or(0));
  require(!flags.keep || !save.empty(), "--keep {}: no checkpoints without --save DIR", flags.keep.value_or(0));
  return {.every = flags.every.value_or(0), .folder = {save, flags.keep.value_or(0)}, .resume = flags.resume};
}

RunSettings settings_of(const TrainingOptions& options, const std::string& data) {
  RunSettings settings = {{"batch", std::to_string(options.batch.sequences)},
                          {"seq", std::to_string(options.batch.tokens)},
                          {"dtype", std::string(name_of(options.dtype))},
                          {"optimizer", std::holds_alternative<AdamW>(options.optimizer) ? "adamw" : "descent"},
                          {"seed", std::to_string(options.seed)},
                          {"data", data}};
  if (options.batch.capacity > 0) settings["capacity"] = fmt::format("{}", options.batch.capacity);
  return settings;
}

void require_same_run(const CheckpointOptions& options, const TrainingRun& run, const RunSettings& settings) {
  if (options.resumed.empty()) return;
  for (const auto& [name, value] : settings) {
    const auto then = options.resumed.find(name);
    require(then != options.resumed.end() && then->second == value,
            "--resume {}: the run there has {} \"{}\", this one has \"{}\"; to start a new run from its weights, use "
            "--load",
            options.resume, name, then == options.resumed.end() ? "" : then->second, value);
  }
  require(run.begin.steps <= run.options.steps,
          "--resume {}: the run there has done {} steps, and --steps {} asks for fewer", options.resume,
          run.begin.steps, run.options.steps);
}

TrainingNotes notes_of(const Job& job, const Trainer& trainer, const CheckpointOptions& options) {
  return {.sequence = trainer.options().batch.tokens,
          .machine_hash = job.given_machine() ? job.given_machine()->hash : "",
          .reads_bytes = options.reads_bytes,
          .tokenizer = options.tokenizer};
}

RunCheckpoints::RunCheckpoints(const Job& job, const Trainer& trainer, CheckpointOptions options, RunSettings settings)
    : job_(job), trainer_(trainer), options_(std::move(options)), settings_(std::move(settings)) {}

void RunCheckpoints::after(Index step, const StepResult& result, bool ends) {
  const bool due = result.stop || (options_.every > 0 && ((step + 1) % options_.every == 0 || ends));
  if (options_.folder.path.empty()) {
    if (result.save) job_.note("asked to save, but there is no --save DIR");
  } else if (due || result.save) {
    save(step + 1);
  }
  if (result.save) Interruption::forget_save();
}

void RunCheckpoints::save(Index steps) {
  const std::string wrong = trainer_.non_finite_parameter();
  if (!wrong.empty()) throw ResultError(fmt::format("after step {}: {}; no checkpoint is saved", steps, wrong));
  const Seconds begin = now();
  const TrainingCheckpoint what{.config = std::get<TransformerConfig>(trainer_.run().config),
                                .position = {.steps = steps, .samples = trainer_.samples_before(steps)},
                                .settings = settings_,
                                .notes = notes_of(job_, trainer_, options_)};
  save_step(trainer_.state(), options_.folder, what, trainer_.model(), job_.world());
  job_.print(fmt::format("saved {}/step-{} in {}\n", options_.folder.path, steps, to_string(now() - begin)));
}

}  // namespace shardline::tools
