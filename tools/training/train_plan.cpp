#include "tools/training/train_plan.h"

#include <algorithm>

#include "models/training/pipeline_prices.h"
#include "models/training/training_memory.h"
#include "models/training/training_search.h"
#include "runtime/base/check.h"
#include "runtime/host/memory_limits.h"

namespace shardline::tools {
namespace {

/// Strategies without and with stages, cheapest first.
std::vector<PricedStrategy> all_priced(const TrainOptions& options, const TrainingRun& run, const AbstractMesh& mesh,
                                       const std::vector<Remat>& remats, Bytes memory) {
  std::vector<PricedStrategy> priced = priced_strategies(run, mesh, remats);
  PipelineSearch search = options.pipeline;
  if (options.fits_memory) search.memory = memory;
  for (PricedStrategy& each : priced_pipelines(run, mesh, remats, search)) priced.push_back(std::move(each));
  std::stable_sort(priced.begin(), priced.end(),
                   [](const PricedStrategy& a, const PricedStrategy& b) { return cheaper(a.price, b.price); });
  return priced;
}

/// Gives the run the cheapest strategy that fits the machine, and if the options leave it open, the rematerialisation.
/// Returns all strategies that were priced.
std::vector<PricedStrategy> choose(const Job& job, const TrainOptions& options, TrainingRun& run) {
  const AbstractMesh& mesh = job.mesh().axes();
  // The memory that is free now must not matter: it would decide about bits.
  const Bytes memory = job.machine().memory_per_rank - options.text_memory;
  std::vector<PricedStrategy> priced = all_priced(options, run, mesh, {run.options.form.remat}, memory);
  if (options.fits_memory && priced.at(0).peak > memory) {
    run.options.schedule.rings_for_memory = true;
    priced = all_priced(options, run, mesh, {run.options.form.remat}, memory);
  }
  // What computes again is never the cheapest. So it is tried only if the cheapest does not fit.
  if (options.fits_memory && options.chooses_remat && priced.at(0).peak > memory) {
    priced = all_priced(options, run, mesh, {kRemats.begin(), kRemats.end()}, memory);
  }
  const PricedStrategy& cheapest = options.fits_memory ? cheapest_that_fits(priced, memory) : priced.at(0);
  run.strategy = cheapest.strategy;
  run.options.form.remat = cheapest.remat;
  run.options.by_price = cheapest.by_price;
  return priced;
}

/// Gives a run with stages the timetable and the number of micro-batches that the options leave open.
void choose_pipeline(const Job& job, const TrainOptions& options, TrainingRun& run) {
  const AbstractMesh& mesh = job.mesh().axes();
  const Axis axis = stage_axis(run.strategy, mesh);
  if (axis.empty()) return;
  PipelineSearch search = options.pipeline;
  if (options.fits_memory) search.memory = job.machine().memory_per_rank - options.text_memory;
  if (search.timetable || search.micro_batches) run = fastest_pipeline(run, mesh, search);
}

void note_idle_stages(const Job& job, const TrainingPlan& plan) {
  const Index count = plan.run.options.form.micro_batches;
  const auto stages = static_cast<Index>(plan.stages.size());
  if (count >= stages) return;
  job.note(fmt::format(
      "{} micro-batch{} on {} stages: with fewer micro-batches than stages, some stages are idle most of the time",
      count, count == 1 ? "" : "es", stages));
}

/// Nothing if nothing is computed again.
std::string remat_words(const std::string& before, Remat remat) {
  return remat == Remat::none ? "" : before + std::string(name_of(remat));
}

/// Nothing without stages.
std::string stage_words(const std::string& timetable, Index micro_batches) {
  return timetable.empty() ? "" : fmt::format(", {} of {} micro-batches", timetable, micro_batches);
}

/// Refuses a run whose arrays on a rank, of `bytes` or more, cannot be counted in 64 bits.
void require_countable(const TrainingRun& run, Bytes bytes) {
  const BatchShape& batch = run.options.batch;
  const std::string typed = std::holds_alternative<MlpConfig>(run.config)
                                ? fmt::format("--size B={}", batch.sequences)
                                : fmt::format("--batch {}, --seq {}", batch.sequences, batch.tokens);
  require(bytes <= kBeyondAnyMachine,
          "train of {:.3g} parameters, {}: each rank has {} of arrays or more; at most {} are counted",
          static_cast<double>(run.parameters()), typed, to_string(bytes), to_string(kBeyondAnyMachine));
}

/// The most bytes of arrays on a rank in a step or an evaluation.
Bytes most_arrays(const TrainingPlan& plan) {
  Bytes most;
  for (const StagePrograms& stage : plan.stages) {  // rank 0 of a stage has the largest blocks
    most = std::max({most, stage.step->liveness().peak(0), stage.evaluation->liveness().peak(0)});
  }
  return most;
}

bool has_rings(const TrainingPlan& plan) {
  return std::any_of(plan.stages.begin(), plan.stages.end(),
                     [](const StagePrograms& stage) { return !stage.step->schedule().rings.empty(); });
}

/// Plans once more, with rings instead of gathered keys, if the arrays of a rank do not fit otherwise. The memory that
/// is free now does not matter: it would decide about bits.
void take_rings_for_memory(const Job& job, const TrainOptions& options, TrainingPlan& plan) {
  const Bytes memory = job.machine().memory_per_rank - options.text_memory;
  if (!options.fits_memory || most_arrays(plan) <= memory) return;
  TrainingRun run = plan.run;
  run.options.schedule.rings_for_memory = true;
  TrainingPlan with_rings = plan_training(run, job.mesh().axes());
  if (most_arrays(with_rings) < most_arrays(plan)) plan = std::move(with_rings);
}

/// What a user would not expect of how sequences lie and meet.
void note_shared_sequences(const Job& job, const TrainingPlan& plan) {
  const TrainingRun& run = plan.run;
  if (run.options.schedule.rings_for_memory && has_rings(plan)) {
    job.note("keys and values go round the ranks, since the arrays of a rank would not fit otherwise");
  }
  if (run.options.token_order && run.ranks_of_sequence(job.mesh().axes()) == 1) {
    job.note(fmt::format("--token-order {} changes nothing: no ranks share sequences under strategy {}",
                         name_of(*run.options.token_order), to_string(run.strategy)));
  }
}

}  // namespace

ChosenPlan plan_that_fits(const Job& job, const TrainOptions& options) {
  const AbstractMesh& mesh = job.mesh().axes();
  TrainingRun run = options.run;
  require_countable(run, least_training_memory(run, mesh));
  std::vector<PricedStrategy> priced;
  if (options.chooses) priced = choose(job, options, run);
  choose_pipeline(job, options, run);
  const auto need_of = [&](const TrainingPlan& plan, int stage, Index rank) {
    const TrainingMemory memory = training_memory(plan, stage, rank);
    return MemoryNeed{.own = memory.own + options.text_memory, .shared = memory.arena};
  };
  const auto advice = [&](const std::function<bool(const MemoryNeed&)>& fits) {
    return what_would_fit(run, mesh, [&](const TrainingPlan& plan) {
      bool all = true;
      for (int stage = 0; stage < static_cast<int>(plan.stages.size()); ++stage) {
        all = all && fits(need_of(plan, stage, 0));
      }
      return all;
    });
  };
  const std::string what =
      fmt::format("train --strategy {}{}", to_string(run.strategy), remat_words(" --remat ", run.options.form.remat));
  ChosenPlan planned{plan_training(run, mesh), std::move(priced)};
  take_rings_for_memory(job, options, planned.plan);
  require_countable(run, most_arrays(planned.plan));  // places in the arena are counted in 64 bits
  note_idle_stages(job, planned.plan);
  job.require_memory(what,
                     need_of(planned.plan, planned.plan.stage_of(mesh, job.mesh().rank()),
                             planned.plan.rank_in_stage(mesh, job.mesh().rank())),
                     advice);
  note_shared_sequences(job, planned.plan);
  return planned;
}

std::string source_of_prices(const Job& job) {
  return job.given_machine() ? "prices of machine " + job.given_machine()->machine.name : "built-in prices";
}

std::string choice_text(const Job& job, const ChosenPlan& planned) {
  if (planned.priced.empty()) return "";
  constexpr std::size_t kListed = 6;
  const std::size_t listed = std::min(planned.priced.size(), kListed);
  std::string text = fmt::format("strategies by {}, {} of {}:\n", source_of_prices(job), listed, planned.priced.size());
  for (std::size_t i = 0; i < listed; ++i) {
    const PricedStrategy& each = planned.priced[i];
    const TrainingRun& run = planned.plan.run;
    const bool chosen = each.strategy == run.strategy && each.remat == run.options.form.remat;
    // What runs is searched once more, with the exact memory of every rank.
    const std::string stages = chosen && planned.plan.pipeline
                                   ? stage_words(run.options.pipeline.timetable, run.options.form.micro_batches)
                                   : stage_words(each.timetable, each.micro_batches);
    text += fmt::format("  {:<24} {:>9} a step, {:>9} of arrays, operations by {}{}{}{}\n", to_string(each.strategy),
                        to_string(each.price.total), to_string(each.peak), each.by_price ? "price" : "table", stages,
                        remat_words(", remat ", each.remat), chosen ? "  <- chosen" : "");
  }
  return text + "\n";
}

}  // namespace shardline::tools
