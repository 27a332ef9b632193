#include "tools/training/train_memory.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "models/architecture/accounting.h"
#include "models/strategy/auto_strategy.h"
#include "models/training/training_memory.h"

namespace shardline::tools {
namespace {

MemoryNeed need_of(const CountedRun& run, const TrainingPlan& plan, Index rank) {
  const TrainingMemory memory = training_memory(plan, rank, run.saves);
  return {.own = memory.own + run.text, .shared = memory.arena};
}

MemoryNeed need_of(const CountedRun& run, const TrainingOptions& options, const Strategy& strategy,
                   const AbstractMesh& mesh) {
  const Bytes least = least_training_memory(run.config, options, mesh);
  if (least > kBeyondAnyMachine) return {.own = least, .shared = Bytes(0)};
  return need_of(run, plan_training(run.config, options, strategy, mesh), 0);
}

/// The half, quarter, ... of the batch that fits, and the cheapest strategy under which the whole of it does.
std::string what_fits(const CountedRun& run, const TrainingOptions& options, const Strategy& strategy,
                      const AbstractMesh& mesh, const std::function<bool(const MemoryNeed&)>& fits) {
  std::vector<std::string> ways;
  TrainingOptions smaller = options;
  while (ways.empty() && smaller.batch.sequences > 1) {
    smaller.batch.sequences /= 2;
    if (fits(need_of(run, smaller, strategy, mesh))) ways.push_back(fmt::format("--batch {}", smaller.batch.sequences));
  }
  const Program program = make_training_step(run.config, options.batch, options.adamw, options.types()).model.program;
  TrainingOptions by_table = options;
  by_table.by_price = false;
  for (const PricedStrategy& each : price_strategies(program, mesh, options.policy, options.prices, options.schedule)) {
    if (!fits(need_of(run, by_table, each.strategy, mesh))) continue;
    ways.push_back("--strategy " + to_string(each.strategy));
    break;
  }
  if (ways.empty()) return "no smaller --batch and no --strategy would fit; more nodes or a smaller model might";
  return fmt::format("{} would fit", fmt::join(ways, ", or "));
}

}  // namespace

Bytes text_memory(const mpi::Communicator& world, const std::vector<std::string>& files) {
  const std::string bytes = mpi::on_root(world, 0, [&] {
    std::uintmax_t sum = 0;
    for (const std::string& file : files) {
      std::error_code failure;
      const std::uintmax_t size = std::filesystem::file_size(file, failure);
      if (!failure) sum += size;
    }
    return std::to_string(3 * sum);
  });
  return Bytes(std::stod(bytes));
}

void require_memory_for_weights(const Job& job, const TransformerConfig& config) {
  constexpr double kWithMoments = 3;
  const double elements = kWithMoments * static_cast<double>(parameter_count(config));
  const Bytes part(elements * static_cast<double>(size_of(job.dtype())) / static_cast<double>(job.mesh().ranks()));
  job.require_memory("train, for weights and their moments alone,", {.own = part, .shared = Bytes(0)},
                     [](const auto&) { return std::string("more nodes or a smaller model might fit"); });
}

TrainingPlan plan_that_fits(const Job& job, const CountedRun& run, const TrainingOptions& options,
                            const Strategy& strategy) {
  const AbstractMesh& mesh = job.mesh().axes();
  const auto require = [&](const MemoryNeed& need) {
    job.require_memory(fmt::format("train --strategy {}", to_string(strategy)), need,
                       [&](const auto& fits) { return what_fits(run, options, strategy, mesh, fits); });
  };
  const Bytes least = least_training_memory(run.config, options, mesh);
  if (least > kBeyondAnyMachine) require({.own = least, .shared = Bytes(0)});
  TrainingPlan plan = plan_training(run.config, options, strategy, mesh);
  require(need_of(run, plan, job.mesh().rank()));
  return plan;
}

}  // namespace shardline::tools
