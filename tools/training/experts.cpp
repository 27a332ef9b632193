#include "tools/training/experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "program/ops/einsum.h"
#include "program/ops/expert_gate.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"
#include "tools/output/text.h"
#include "tools/report/operation_row.h"

namespace shardline::tools {
namespace {

/// No experts in a model without sequences.
Experts experts_of(const ModelConfig& config) {
  const auto* transformer = std::get_if<TransformerConfig>(&config);
  return transformer == nullptr ? Experts{} : transformer->experts;
}

double mean_of(const std::vector<double>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(1, counts.size()));
}

Json routing_json(const Routing& routing) {
  return {{"routed", routing.routed}, {"dropped", routing.dropped}, {"dropped_share", dropped_share(routing)}};
}

}  // namespace

ExpertRecord expert_record(const Trainer& trainer) {
  const BatchShape& batch = trainer.options().batch;
  ExpertRecord record;
  record.experts = experts_of(trainer.run().config);
  record.capacity = batch.capacity;
  if (record.experts.count == 0) return record;
  const Program& program = trainer.model().program;
  record.places = program.sizes.at("C");
  const auto size = [&](const char* dim) { return static_cast<double>(program.sizes.at(dim)); };
  record.share_with_room = std::min(1.0, size("E") * size("C") / (size("T") * size("J")));
  const AbstractMesh& mesh = trainer.engine().mesh().axes();
  Axes axes;
  for (const Axis& axis : mesh.axes()) {
    for (const auto& [given, role] : trainer.run().strategy) {
      if (given == axis && shares_experts(role.row())) axes.push_back(axis);
    }
  }
  record.blocks = nested_blocks(record.experts.count, axes, mesh);
  record.training = trainer.routing_of_steps();
  record.evaluation = trainer.routing_of_evaluation();
  return record;
}

void require_experts(const TrainingRun& run) {
  require(!run.options.pack || run.options.batch.capacity == 0,
          "--pack, --capacity {}: the documents of a sequence would take places from each other; leave one out",
          run.options.batch.capacity);
  if (experts_of(run.config).count > 0) return;
  require(run.options.batch.capacity == 0, "--capacity {}: the model has no experts", run.options.batch.capacity);
  for (const auto& [axis, role] : run.strategy) {
    require(!splits_experts(role.row()), "strategy \"{}\": role {} splits experts, and the model has none",
            to_string(run.strategy), role.name());
  }
}

double places_over_even(const ExpertRecord& record) {
  const Routing& routing = record.training;
  double sum = 0;
  int layers = 0;
  for (std::size_t layer = 0; layer < routing.routed.size(); ++layer) {
    const std::vector<double>& routed = routing.routed[layer];
    const double all = std::accumulate(routed.begin(), routed.end(), 0.0);
    if (all <= 0) continue;  // a layer of another stage
    double busiest = 0;
    for (const Range& experts : record.blocks) {
      double own = 0;
      for (auto e = static_cast<std::size_t>(experts.begin); e < static_cast<std::size_t>(experts.end); ++e) {
        own += routed[e] - routing.dropped[layer][e];
      }
      busiest = std::max(busiest, own);
    }
    // Prices count rank 0, which has the most experts.
    const double share = static_cast<double>(record.blocks[0].size()) / static_cast<double>(record.experts.count);
    sum += busiest / (all * record.share_with_room * share);
    ++layers;
  }
  return layers > 0 ? sum / layers : 1;
}

Seconds predicted_as_routed(const ExpertRecord& record, const Comparison& comparison) {
  Seconds experts;
  for (const KindSummary& kind : comparison.kinds) {
    if (is_product(kind.kind) && kind.kind != einsum_kind().name) experts += kind.predicted;
    if (kind.kind.starts_with(expert_gate_kind().name)) experts += kind.predicted;
  }
  return comparison.predicted + experts * ((places_over_even(record) - 1) / std::max(1, comparison.runs));
}

std::string routing_text(const ExpertRecord& record, const Comparison& comparison) {
  if (record.experts.count == 0) return "";
  const std::string room = record.capacity > 0
                               ? fmt::format("{} place{} a sequence and expert (capacity {})", record.places,
                                             record.places == 1 ? "" : "s", record.capacity)
                               : std::string("room for every choice");
  std::string text = fmt::format(
      "experts: each token passes {} of {}; {}; {:.2f}% of the choices in training were dropped; in one layer the "
      "busiest expert had {:.2f} times the mean\n",
      record.experts.chosen, record.experts.count, room, 100 * dropped_share(record.training),
      most_over_mean(record.training));
  if (comparison.predicted.value > 0 && comparison.stages == 1) {
    const Seconds routed = predicted_as_routed(record, comparison);
    text += fmt::format(
        "by what was routed the busiest rank computes {:.2f} times the places of even routing: {} a step predicted, "
        "ratio {:.2f}\n",
        places_over_even(record), to_string(routed), comparison.measured / routed);
  }
  if (!record.evaluation.routed.empty()) {
    text += fmt::format("held-out text: {:.2f}% dropped, busiest {:.2f} times the mean",
                        100 * dropped_share(record.evaluation), most_over_mean(record.evaluation));
    const bool decides = record.experts.chosen < record.experts.count;
    text += decides ? fmt::format("; in the closest decision the probabilities of two experts were {:.1e} apart\n",
                                  record.evaluation.closest)
                    : "\n";
  }
  return text;
}

Json expert_json(const ExpertRecord& record, const Comparison& comparison) {
  Json json = {{"count", record.experts.count},     {"chosen", record.experts.chosen},
               {"balance", record.experts.balance}, {"capacity", record.capacity > 0 ? Json(record.capacity) : Json()},
               {"places", record.places},           {"training", routing_json(record.training)}};
  if (comparison.predicted.value > 0 && comparison.stages == 1) {
    json["places_over_even"] = places_over_even(record);
    json["predicted_as_routed_s"] = predicted_as_routed(record, comparison).value;
  }
  if (!record.evaluation.routed.empty()) {
    json["evaluation"] = routing_json(record.evaluation);
    const bool decides = record.experts.chosen < record.experts.count;
    json["evaluation"]["closest"] = decides ? Json(record.evaluation.closest) : Json();
  }
  return json;
}

Plot load_plot(const ExpertRecord& record) {
  constexpr std::size_t kMostCurves = 6;
  Plot plot{
      "", {"expert", Scaling::linear, plain_number}, {"choices over the mean", Scaling::linear, plain_number}, {}};
  const std::vector<std::vector<double>>& layers = record.training.routed;
  const std::size_t stride = (layers.size() + kMostCurves - 1) / kMostCurves;
  for (std::size_t layer = 0; layer < layers.size(); layer += std::max<std::size_t>(1, stride)) {
    PlotCurve curve{fmt::format("layer {}", layer + 1), {}, plot.curves.size(), plot.curves.size()};
    const double mean = mean_of(layers[layer]);
    for (std::size_t expert = 0; expert < layers[layer].size() && mean > 0; ++expert) {
      curve.points.emplace_back(static_cast<double>(expert), layers[layer][expert] / mean);
    }
    plot.curves.push_back(std::move(curve));
  }
  const auto last = static_cast<double>(record.experts.count - 1);
  plot.guides.push_back({"all alike", {0, 1}, {last, 1}});
  return plot;
}

}  // namespace shardline::tools
