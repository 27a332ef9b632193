#include "models/planning/closed_form.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/architecture/accounting.h"
#include "models/planning/chip_mesh.h"
#include "models/strategy/usual_axes.h"

namespace shardline {
namespace {

using roofline::CountedPasses;
using roofline::LayerTime;

constexpr double kBackward = 2.0 / 3;  // share of the FLOPs of both passes
constexpr CountedPasses kPasses = CountedPasses::both_keeping;

LayerTime all_layers(LayerTime time, Index layers) {
  const auto count = static_cast<double>(layers);
  return {time.math * count, time.fsdp * count, time.tensor * count, time.routing * count};
}

/// Fills in the memory of a chip: state is split over `state_ways` chips, activations over
/// `activation_ways`.
void put_memory(StrategyAnswer& answer, const ClosedFormQuery& query, double state_ways, double activation_ways) {
  const auto weights = static_cast<double>(parameter_count(query.config));
  answer.state = (query.element + query.moments) * (weights / state_ways);
  if (query.capacity.value == 0) answer.keeps = "unknown";
  for (const Remat remat : kRemats) {  // the most generous first
    const Bytes kept = activation_bytes(query.config, query.tokens_of_pod(), remat, query.element);
    const bool fits = answer.state + kept / activation_ways <= query.capacity;
    if (fits && answer.keeps.empty()) answer.keeps = name_of(remat);
  }
}

std::string verdict(bool compute_bound) { return compute_bound ? "compute binds" : "communication binds"; }

// The closed forms of the book are those of three roles, and of context parallelism beside the first two.
AxisRole data_role() { return role_between_pods(); }
AxisRole fsdp_role() { return default_role(); }

/// `role` on `x` chips, and tensor parallelism on `y` of them.
StrategyAnswer answer_of(const ClosedFormQuery& query, const AxisRole& role, double x, double y) {
  StrategyAnswer answer;
  const auto add = [&](const AxisRole& each, const Axis& axis, double chips) {
    const char* const plus = answer.name.empty() ? "" : "+";
    const char* const comma = answer.mesh.empty() ? "" : ",";
    answer.name += plus + each.name();
    answer.mesh += fmt::format("{}{}={}", comma, axis, chips);
  };
  const auto data = static_cast<double>(query.data_ways(x));
  if (data > 1 || x == 1) add(role, usual_axis(role), data);
  if (x > data) add(context_role(role), kContextAxis, x / data);
  if (y > 1) add(tensor_role(), usual_axis(tensor_role()), y);
  return answer;
}

/// A bound on the tokens per chip: over all chips; and over the mesh, if its chips are fewer. The bound knows no keys
/// and values. Where they move, the row says what that takes, and the times of the whole row decide.
std::string tokens_bound(const ClosedFormQuery& query, const StrategyAnswer& answer, double least, Seconds context,
                         bool compute_bound) {
  const double of_mesh = query.tokens_of_pod() / static_cast<double>(query.mesh_chips());
  const bool moves = context.value > 0;
  const std::string beside = query.mesh_chips() == query.chips ? "" : fmt::format(" ({:.1f} in the mesh)", of_mesh);
  const std::string keys = moves ? fmt::format(", keys and values take {}", to_string(context)) : "";
  return fmt::format("needs {:.1f} tokens a chip, has {:.1f}{}{}: {}", least, query.tokens_per_chip(), beside, keys,
                     verdict(moves ? answer.comms < answer.math : compute_bound));
}

/// A role that splits the batch, on all chips of the mesh. State is split over `state_ways` chips.
StrategyAnswer alone(const ClosedFormQuery& query, const AxisRole& role, const LayerTime& time, Index state_ways) {
  const auto n = static_cast<double>(query.mesh_chips());
  const LayerTime all = all_layers(time, query.config.layers);
  StrategyAnswer answer = answer_of(query, role, n, 1);
  answer.math = all.math;
  answer.comms = all.comms() + context_time(query, n, 1, kPasses);
  put_memory(answer, query, static_cast<double>(state_ways), static_cast<double>(query.chips));
  return answer;
}

StrategyAnswer data_parallel(const ClosedFormQuery& query) {
  const auto n = static_cast<double>(query.mesh_chips());
  const LayerTime time = data_parallel_time(query.layer(), query.rates, n, query.torus_axes, kPasses);
  const double least =
      query.layer().held * roofline::least_tokens_per_chip_fsdp(query.rates.intensity(), query.torus_axes);
  StrategyAnswer answer = alone(query, data_role(), time, 1);
  const Seconds context = context_time(query, n, 1, kPasses);
  answer.bound = "backward: " + tokens_bound(query, answer, least, context, time.comms() < time.math * kBackward);
  return answer;
}

StrategyAnswer fsdp(const ClosedFormQuery& query) {
  const auto n = static_cast<double>(query.mesh_chips());
  const LayerTime time = fsdp_time(query.layer(), query.rates, n, query.torus_axes, kPasses);
  const double least =
      query.layer().held * roofline::least_tokens_per_chip_fsdp(query.rates.intensity(), query.torus_axes);
  StrategyAnswer answer = alone(query, fsdp_role(), time, query.chips);
  answer.bound = tokens_bound(query, answer, least, context_time(query, n, 1, kPasses), answer.comms < answer.math);
  return answer;
}

StrategyAnswer tensor(const ClosedFormQuery& query) {
  const auto n = static_cast<double>(query.mesh_chips());
  const LayerTime time = tensor_time(query.layer(), query.rates, n, query.torus_axes, kPasses);
  const double most =
      roofline::most_tensor_chips(query.rates.intensity(), query.layer().d_ff, query.torus_axes, kPasses);
  const LayerTime all = all_layers(time, query.config.layers);
  StrategyAnswer answer{.name = tensor_role().name(),
                        .mesh = fmt::format("{}={}", usual_axis(tensor_role()), query.mesh_chips()),
                        .math = all.math,
                        .comms = all.comms()};
  put_memory(answer, query, static_cast<double>(query.chips), static_cast<double>(query.chips));
  answer.bound =
      fmt::format("at most {:.1f} chips, has {}: {}", most, query.mesh_chips(), verdict(time.compute_bound()));
  return answer;
}

StrategyAnswer mixed(const ClosedFormQuery& query) {
  const MixedAnswer best = mixed_answer(query, kPasses);
  StrategyAnswer answer = answer_of(query, fsdp_role(), best.mesh.x, best.mesh.y);
  answer.math = best.time.math;
  answer.comms = best.time.comms() + best.context;
  answer.bound = tokens_bound(query, answer, best.least_tokens_per_chip, best.context, answer.comms < answer.math);
  put_memory(answer, query, static_cast<double>(query.chips), static_cast<double>(query.chips));
  return answer;
}

bool has_expert_sharding(const ClosedFormQuery& query) {
  return query.config.experts.count >= 2 && query.mesh_chips() >= 2;
}

roofline::ExpertMesh expert_mesh(const ClosedFormQuery& query) {
  return roofline::best_expert_mesh(query.layer(), query.rates, query.mesh_chips(), query.config.experts.count,
                                    query.x_torus_axes, query.rings, kPasses);
}

constexpr const char* kAsIfSequences = "; as if there were sequences for all of X";

StrategyAnswer expert_sharding(const ClosedFormQuery& query) {
  const roofline::ExpertMesh mesh = expert_mesh(query);
  const LayerTime all = all_layers(expert_time(query.layer(), query.rates, mesh, kPasses), query.config.layers);
  StrategyAnswer answer{.name = fsdp_role().name() + "+" + expert_role().name(),
                        .mesh = fmt::format("{}={},{}={}", usual_axis(fsdp_role()), mesh.x, kExpertAxis, mesh.z),
                        .math = all.math,
                        .comms = all.comms()};
  put_memory(answer, query, static_cast<double>(query.chips), static_cast<double>(query.chips));
  answer.bound = fmt::format("weights move in {}, tokens in {}: {}", to_string(all.fsdp), to_string(all.routing),
                             verdict(all.compute_bound()));
  const double ranks = mesh.chips();
  if (static_cast<double>(query.data_ways(ranks)) < ranks) answer.bound += kAsIfSequences;
  return answer;
}

StrategyAnswer pipeline(const ClosedFormQuery& query) {
  const auto n = static_cast<double>(query.mesh_chips());
  const roofline::PipelineTime time = pipeline_time(query.layer(), query.config.layers, query.rates, n,
                                                    query.torus_axes, query.stages, query.micro_batches);
  StrategyAnswer answer{
      .name = "pipeline",
      .mesh = fmt::format("stages={},{}={}", query.stages, usual_axis(data_role()), query.mesh_chips() / query.stages),
      .math = time.math,
      .comms = time.comms,
      .idle = time.bubble};
  answer.bound = fmt::format("{} micro-batches through {} stages: idle {:.1f}% of the step", query.micro_batches,
                             query.stages, 100 * (time.bubble / (time.math + time.bubble)));
  const double ranks = n / static_cast<double>(query.stages);
  if (static_cast<double>(query.data_ways(ranks)) < ranks) answer.bound += kAsIfSequences;
  put_memory(answer, query, static_cast<double>(query.stages), static_cast<double>(query.chips));
  return answer;
}

/// The AllReduce of gradients between pods, beside the backward pass of a pod (book section 5.1.6).
StrategyAnswer between_pods(const ClosedFormQuery& query) {
  const auto weights = static_cast<double>(parameter_count(query.config));
  const double hosts = static_cast<double>(query.chips) / static_cast<double>(query.chips_per_host);
  StrategyAnswer answer = mixed(query);
  answer.name = fmt::format("{}: {}", kPodAxis, data_role().name());
  answer.mesh = fmt::format("{}={}", kPodAxis, query.pods);
  answer.comms = 2 * query.element * weights / (query.between_pods * hosts);
  const double least =
      roofline::least_tokens_per_pod(query.rates.compute, query.chips, query.chips_per_host, query.between_pods);
  answer.bound = fmt::format("backward: needs {:.0f} tokens a pod, has {:.0f}: {}", least, query.tokens_of_pod(),
                             verdict(query.tokens_of_pod() > least));
  return answer;
}

}  // namespace

roofline::TwoProducts ClosedFormQuery::layer() const {
  const MeanWidths widths = mean_widths(config);
  return {tokens_of_pod(), static_cast<double>(config.d_model), widths.passed, widths.held / widths.passed,
          widths.routed};
}

Index ClosedFormQuery::data_ways(double x) const {
  const auto ways = static_cast<Index>(x);
  if (sequence == 0) return ways;
  const auto sequences = static_cast<Index>(tokens_of_pod() / static_cast<double>(sequence));
  return std::min(ways, roofline::power_of_two_below(std::max<Index>(sequences, 1)));
}

Bytes context_bytes(const ClosedFormQuery& query, double x, double y) {
  const auto data = static_cast<double>(query.data_ways(x));
  if (x <= data) return Bytes(0);
  const Bytes of_token = kv_cache_per_token(query.config, query.element) / static_cast<double>(query.config.layers);
  const double heads = query.config.latent.cached > 0 ? 1 : y;  // what is latent is of all heads
  return of_token * (query.tokens_of_pod() / data / heads);
}

Seconds context_time(const ClosedFormQuery& query, double x, double y, CountedPasses passes) {
  const double times = passes == CountedPasses::forward ? 1 : passes == CountedPasses::both_keeping ? 2 : 3;
  // The rate of the link is for bf16.
  const Bytes bytes = context_bytes(query, x, y) * (2 / query.element.value);
  return bytes / query.rates.link * (times * static_cast<double>(query.config.layers));
}

MixedAnswer mixed_answer(const ClosedFormQuery& query, CountedPasses passes) {
  const roofline::TwoProducts layer = query.layer();
  const double m_x = query.x_torus_axes;
  const double m_y = query.y_torus_axes;
  const auto n = static_cast<double>(query.mesh_chips());
  MixedAnswer answer{.passes = passes};
  answer.optimal_x = roofline::optimal_x(layer, n, m_x, m_y, passes);
  answer.mesh = roofline::best_mixed_mesh(layer, query.rates, query.mesh_chips(), m_x, m_y, query.torus_axes, passes);
  answer.time = all_layers(mixed_time(layer, query.rates, answer.mesh, passes), query.config.layers);
  answer.context = context_time(query, answer.mesh.x, answer.mesh.y, passes);
  answer.least_tokens_per_chip =
      layer.held * roofline::least_tokens_per_chip(query.rates.intensity(), layer.d_ff, m_x, m_y, passes);
  answer.compute_bound_x = roofline::compute_bound_x(layer, query.rates, n, m_x, m_y, passes);
  return answer;
}

Bytes weights_of_chip(const TransformerConfig& config, Bytes element, double tensor_ways, double expert_ways) {
  const ParameterParts parts = parameter_parts(config);
  const auto experts = static_cast<double>(parts.experts);
  const double others = static_cast<double>(parts.total()) - experts;
  return element * ((others + experts / expert_ways) / tensor_ways);
}

std::optional<ExpertsAnswer> experts_answer(const ClosedFormQuery& query) {
  const Experts& experts = query.config.experts;
  if (experts.count == 0) return std::nullopt;
  ExpertsAnswer answer;
  const double held = static_cast<double>(experts.count) / static_cast<double>(experts.chosen);
  if (query.memory.value > 0) {
    const double intensity = query.rates.compute.value / query.memory.value;
    answer.least_batch = roofline::least_batch(intensity, query.element, held);
    answer.least_batch_int8 = roofline::least_batch(intensity, Bytes(1), held);
  }
  if (!has_expert_sharding(query)) return answer;
  ExpertSharding sharding;
  sharding.mesh = expert_mesh(query);
  const double tokens = query.tokens_of_pod() / sharding.mesh.x;
  sharding.sent = query.element * (tokens * static_cast<double>(experts.chosen * query.config.d_model));
  sharding.all_gather = sharding.sent * (2 / query.element.value) / query.rates.link;  // the rate is for bf16
  sharding.all_to_all = sharding.all_gather * roofline::share_of_gather(sharding.mesh.z, query.rings);
  sharding.all_ways = static_cast<double>(roofline::power_of_two_below(std::min(query.mesh_chips(), experts.count)));
  sharding.weights = weights_of_chip(query.config, Bytes(1), 1, sharding.all_ways);
  answer.sharding = sharding;
  return answer;
}

Seconds staged_time(const ClosedFormQuery& query, const StagedForm& form) {
  roofline::TwoProducts layer = query.layer();
  layer.tokens /= static_cast<double>(form.micro_batches);
  const LayerTime time = mixed_time(layer, query.rates, form.mesh, kPasses);
  // Of FSDP's 12 DF bytes a step, 4 are for gradients and 8 for weights, which are gathered twice.
  const double each = (form.gathers ? 8.0 : 0.0) + (form.scatters ? 4.0 : 0.0);
  const double at_end = (form.gathers ? 0.0 : 4.0) + (form.scatters ? 0.0 : 4.0);
  const Seconds task = std::max(time.math, time.fsdp * (each / 12)) + time.tensor;
  const Seconds once = time.fsdp * (at_end / 12);
  const double layers = static_cast<double>(query.config.layers) / static_cast<double>(form.stages);
  return (task * static_cast<double>(form.micro_batches + form.stages - 1) + once) * layers;
}

std::vector<StrategyAnswer> strategy_answers(const ClosedFormQuery& query) {
  std::vector<StrategyAnswer> answers = {data_parallel(query), fsdp(query), tensor(query), mixed(query)};
  if (has_expert_sharding(query)) answers.push_back(expert_sharding(query));
  if (query.stages > 1) answers.push_back(pipeline(query));
  if (query.pods > 1 && query.between_pods.value > 0) answers.push_back(between_pods(query));
  return answers;
}

}  // namespace shardline
