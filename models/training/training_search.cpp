#include "models/training/training_search.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/architecture/accounting.h"

namespace shardline {
namespace {

/// The fewest elements of a step, over all ranks: the parameters, and the logits or the widest
/// array of a layer.
double least_elements(const TransformerConfig& config, const BatchShape& batch) {
  const double tokens = static_cast<double>(batch.sequences) * static_cast<double>(batch.tokens);
  const Index widest = std::max({config.vocab, config.d_ff, config.d_model, config.heads * config.head_dim});
  return static_cast<double>(parameter_count(config)) + tokens * static_cast<double>(widest);
}

/// A smaller run, and the option that makes it.
struct Way {
  std::string option;
  TrainingRun run;
};

/// The half, quarter, ... of the batch.
std::vector<Way> smaller_batches(TrainingRun run) {
  std::vector<Way> ways;
  Index& sequences = run.options.batch.sequences;
  while (sequences > 1) {
    sequences /= 2;
    if (sequences % run.options.form.micro_batches == 0) ways.push_back({fmt::format("--batch {}", sequences), run});
  }
  return ways;
}

/// The same batch in more micro-batches, the fewest first. A plan of very many takes long.
std::vector<Way> more_micro_batches(TrainingRun run) {
  constexpr Index kMost = 16;
  std::vector<Way> ways;
  const Index sequences = run.options.batch.sequences;
  for (Index& count = ++run.options.form.micro_batches; count <= std::min(sequences, kMost); ++count) {
    if (sequences % count == 0) ways.push_back({fmt::format("--micro-batches {}", count), run});
  }
  return ways;
}

/// The same run with less kept for the backward pass, the most generous first.
std::vector<Way> less_kept(TrainingRun run) {
  std::vector<Way> ways;
  for (const Remat remat : kRemats) {
    if (remat <= run.options.form.remat) continue;
    TrainingRun less = run;
    less.options.form.remat = remat;
    ways.push_back({fmt::format("--remat {}", name_of(remat)), std::move(less)});
  }
  return ways;
}

/// The run by the table of every strategy, cheapest first.
std::vector<Way> other_strategies(TrainingRun run, const AbstractMesh& mesh) {
  std::vector<Way> ways;
  const std::vector<PricedStrategy> priced = priced_strategies(run, mesh, {run.options.form.remat});
  run.options.by_price = false;
  for (const PricedStrategy& each : priced) {
    run.strategy = each.strategy;
    ways.push_back({fmt::format("--strategy {}", to_string(run.strategy)), run});
  }
  return ways;
}

}  // namespace

Bytes least_training_memory(const TrainingRun& run, const AbstractMesh& mesh) {
  const double elements = least_elements(run.config, run.options.batch) / static_cast<double>(mesh.ranks());
  return Bytes(elements * static_cast<double>(size_of(run.options.dtype)));
}

std::vector<PricedStrategy> priced_strategies(const TrainingRun& run, const AbstractMesh& mesh,
                                              const std::vector<Remat>& remats) {
  const TrainingOptions& options = run.options;
  StepForm form = options.form;
  std::vector<PricedStrategy> priced;
  for (const Remat remat : remats) {
    form.remat = remat;
    const TrainingStep step = make_training_step(run.config, options.batch, options.adamw, options.types(), form);
    for (PricedStrategy& each : price_strategies(step.model.program, mesh, options.policy, options.prices,
                                                 options.schedule, form.micro_batches)) {
      each.remat = remat;
      priced.push_back(std::move(each));
    }
  }
  std::stable_sort(priced.begin(), priced.end(),
                   [](const PricedStrategy& a, const PricedStrategy& b) { return cheaper(a.price, b.price); });
  return priced;
}

std::string what_would_fit(const TrainingRun& run, const AbstractMesh& mesh,
                           const std::function<bool(const TrainingPlan&)>& fits) {
  std::vector<std::string> found;
  for (const std::vector<Way>& ways :
       {smaller_batches(run), more_micro_batches(run), less_kept(run), other_strategies(run, mesh)}) {
    for (const Way& way : ways) {
      if (!fits(plan_training(way.run, mesh))) continue;
      found.push_back(way.option);
      break;
    }
  }
  if (found.empty()) {
    return "no smaller --batch, no number of --micro-batches up to 16, no --remat and no --strategy would fit; more "
           "nodes or a smaller model might";
  }
  return fmt::format("{} would fit", fmt::join(found, ", or "));
}

}  // namespace shardline
