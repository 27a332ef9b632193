#include "tools/training/joined_steps.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <tuple>

namespace shardline::tools {
namespace {

Json json_of_step(const Label& label, const Measured& measured) {
  std::vector<double> of_rank;
  for (const Seconds time : measured.of_rank) of_rank.push_back(time.value);
  return {label.name,
          label.kind,
          label.axes,
          label.limiter,
          label.communicates,
          label.fused,
          label.swept,
          label.bytes.value,
          label.wire_bytes.value,
          label.flops.value,
          label.predicted.value,
          label.math.value,
          label.memory.value,
          label.comms.value,
          measured.count,
          measured.total.value,
          measured.median.value,
          measured.exposed.value,
          of_rank};
}

/// `of_rank` has an entry for each rank of the job; `ranks` are those of the stage.
std::pair<Label, Measured> step_of_json(const Json& json, const std::vector<Index>& ranks, Index all) {
  Label label{.name = json[0],
              .kind = json[1],
              .axes = json[2],
              .limiter = json[3],
              .communicates = json[4],
              .fused = json[5],
              .swept = json[6],
              .bytes = Bytes(json[7]),
              .wire_bytes = Bytes(json[8]),
              .flops = Flops(json[9]),
              .predicted = Seconds(json[10]),
              .math = Seconds(json[11]),
              .memory = Seconds(json[12]),
              .comms = Seconds(json[13])};
  Measured measured{.count = json[14],
                    .total = Seconds(json[15]),
                    .median = Seconds(json[16]),
                    .exposed = Seconds(json[17]),
                    .of_rank = std::vector<Seconds>(static_cast<std::size_t>(all))};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    measured.of_rank[static_cast<std::size_t>(ranks[i])] = Seconds(json[18][i]);
  }
  return {std::move(label), std::move(measured)};
}

/// The place of a step among those of all stages: by pass and micro-batch, forward up the layers and backward down.
auto place_of(const JoinedStep& step) {
  const int down = step.region.pass == Pass::backward ? -1 : 1;
  return std::tuple(step.region.pass, step.region.micro_batch, down * step.region.layer, down * step.stages.front());
}

class Joining {
 public:
  /// Steps of one stage with the same name and region are told apart by their order.
  void add(int stage, const Region& region, Label label, Measured measured) {
    const auto name = std::tuple(region.pass, region.layer, region.micro_batch, label.name);
    const auto key = std::pair(name, seen_[{stage, name}]++);
    const auto [found, is_new] = places_.emplace(key, steps_.size());
    if (is_new) {
      steps_.push_back({std::move(label), region, std::move(measured), {stage}});
      return;
    }
    JoinedStep& step = steps_[found->second];
    step.stages.push_back(stage);
    for (std::size_t rank = 0; rank < measured.of_rank.size(); ++rank) {
      measured.of_rank[rank] = std::max(measured.of_rank[rank], step.measured.of_rank[rank]);
    }
    step.measured.of_rank = measured.of_rank;
    if (measured.total <= step.measured.total) return;
    step.label = std::move(label);
    step.measured = std::move(measured);
  }

  std::vector<JoinedStep> take() {
    std::stable_sort(steps_.begin(), steps_.end(),
                     [](const JoinedStep& a, const JoinedStep& b) { return place_of(a) < place_of(b); });
    return std::move(steps_);
  }

 private:
  using Name = std::tuple<Pass, int, int, std::string>;
  std::vector<JoinedStep> steps_;
  std::map<std::pair<int, Name>, int> seen_;
  std::map<std::pair<Name, int>, std::size_t> places_;
};

/// The ranks of the job on a stage, in the order of the stage's mesh.
std::vector<Index> ranks_of_stage(const TrainingPlan& plan, const AbstractMesh& mesh, int stage) {
  std::vector<Index> ranks;
  for (Index rank = 0; rank < mesh.ranks(); ++rank) {
    if (plan.stage_of(mesh, rank) == stage) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

std::vector<JoinedStep> joined_steps(const Job& job, const Trainer& trainer, const std::vector<Measured>& measured) {
  const std::vector<Label>& labels = trainer.executor().trace().labels();
  const TrainingPlan& plan = trainer.plan();
  std::vector<JoinedStep> steps;
  if (!plan.pipeline) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      steps.push_back({labels[i], trainer.program().steps[i].region, measured[i], {0}});
    }
    return steps;
  }
  const AbstractMesh& mesh = job.mesh().axes();
  Json own = Json::array();
  for (std::size_t i = 0; i < labels.size(); ++i) own.push_back(json_of_step(labels[i], measured[i]));
  const bool tells = plan.rank_in_stage(mesh, job.mesh().rank()) == 0;
  const std::vector<std::string> told = job.world().all_gather_bytes(tells ? own.dump() : "");
  Joining joining;
  for (int stage = 0; stage < static_cast<int>(plan.stages.size()); ++stage) {
    const std::vector<Index> ranks = ranks_of_stage(plan, mesh, stage);
    const Json of_stage = Json::parse(told[static_cast<std::size_t>(ranks.front())]);
    const std::vector<Step>& program = plan.stages[static_cast<std::size_t>(stage)].step->program().steps;
    for (std::size_t i = 0; i < program.size(); ++i) {
      auto [label, times] = step_of_json(of_stage[i], ranks, mesh.ranks());
      joining.add(stage, program[i].region, std::move(label), std::move(times));
    }
  }
  return joining.take();
}

std::vector<KindSummary> summary_of(const std::vector<JoinedStep>& steps) {
  std::vector<Label> labels;
  std::vector<Measured> measured;
  for (const JoinedStep& step : steps) {
    labels.push_back(step.label);
    measured.push_back(step.measured);
  }
  return summarise(labels, measured);
}

std::string joined_text(const std::vector<JoinedStep>& steps, int stages) {
  if (stages <= 1) return "";
  const auto shared =
      std::count_if(steps.begin(), steps.end(), [](const JoinedStep& step) { return step.stages.size() > 1; });
  return fmt::format(
      "the table sums over {} stages; {} of {} steps run{} on several stages, where the slowest counts\n", stages,
      shared, steps.size(), shared == 1 ? "s" : "");
}

}  // namespace shardline::tools
