#include "models/training/training_search.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/architecture/accounting.h"

namespace shardline {
namespace {

/// The most elements of an array for each token: of the logits, or of the widest array of a layer.
Index widest(const TransformerConfig& config) {
  return std::max({config.vocab, config.d_ff, config.d_model, config.heads * config.head_dim});
}
Index widest(const MlpConfig& config) { return std::max(config.d_ff, config.d_model); }

/// A smaller run, and the option that makes it.
struct Way {
  std::string option;
  TrainingRun run;
};

/// How the run's batch is typed.
std::string batch_option(const TrainingRun& run) {
  const Index sequences = run.options.batch.sequences;
  return std::holds_alternative<MlpConfig>(run.config) ? fmt::format("--size B={}", sequences)
                                                       : fmt::format("--batch {}", sequences);
}

/// The half, quarter, ... of the batch.
std::vector<Way> smaller_batches(TrainingRun run) {
  std::vector<Way> ways;
  Index& sequences = run.options.batch.sequences;
  while (sequences > 1) {
    sequences /= 2;
    if (sequences % run.options.form.micro_batches == 0) ways.push_back({batch_option(run), run});
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
  const auto width = static_cast<double>(std::visit([](const auto& config) { return widest(config); }, run.config));
  // of all ranks: the parameters, and the widest array
  const double elements = static_cast<double>(run.parameters()) + run.options.tokens() * width;
  return Bytes(elements / static_cast<double>(mesh.ranks()) * static_cast<double>(size_of(run.options.dtype)));
}

std::vector<PricedStrategy> priced_strategies(const TrainingRun& run, const AbstractMesh& mesh,
                                              const std::vector<Remat>& remats) {
  const TrainingOptions& options = run.options;
  TrainingRun with = run;
  std::vector<PricedStrategy> priced;
  for (const Remat remat : remats) {
    with.options.form.remat = remat;
    for (PricedStrategy& each : price_strategies(with.step_model().model.program, mesh, options.policy, options.prices,
                                                 options.schedule, options.form.micro_batches)) {
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
    return "no smaller batch, no number of --micro-batches up to 16, no --remat and no --strategy would fit; more "
           "nodes "
           "or a smaller model might";
  }
  return fmt::format("{} would fit", fmt::join(found, ", or "));
}

}  // namespace shardline
