#include "tools/plan/plan_answer.h"

#include <nlohmann/json.hpp>

#include "tools/output/quiet_record.h"

namespace shardline::tools {
namespace {

Json mesh_of(const roofline::MixedMesh& mesh) {
  return {{"X", static_cast<Index>(mesh.x)}, {"Y", static_cast<Index>(mesh.y)}};
}

Json mixed_json(const MixedAnswer& mixed) {
  Json json{{"mesh", mesh_of(mixed.mesh)},
            {"passes", passes_text(mixed.passes)},
            {"optimal_x", mixed.optimal_x},
            {"t_math_s", mixed.time.math.value},
            {"t_fsdp_s", mixed.time.fsdp.value},
            {"t_tensor_s", mixed.time.tensor.value},
            {"compute_bound", mixed.time.compute_bound()},
            {"least_tokens_per_chip", mixed.least_tokens_per_chip}};
  json["compute_bound_x"] = nullptr;
  if (mixed.compute_bound_x) json["compute_bound_x"] = {mixed.compute_bound_x->first, mixed.compute_bound_x->second};
  return json;
}

/// The answer for the forward pass, as in the book, with the other answers beside it.
Json closed_form_json(const PlanAnswer& answer) {
  Json json = mixed_json(answer.mixed[0]);
  json["with_backward"] = {{"kept", mixed_json(answer.mixed[1])}, {"regathered", mixed_json(answer.mixed[2])}};
  json["strategies"] = Json::array();
  for (const StrategyAnswer& each : answer.strategies) {
    json["strategies"].push_back({{"name", each.name},
                                  {"mesh", each.mesh},
                                  {"t_math_s", each.math.value},
                                  {"t_comms_s", each.comms.value},
                                  {"idle_s", each.idle.value},
                                  {"state_bytes", each.state.value},
                                  {"keeps", each.keeps.empty() ? Json(nullptr) : Json(each.keeps)},
                                  {"bound", each.bound}});
  }
  return json;
}

Json candidate_json(const PlanCandidate& candidate) {
  const PlannedStep& step = candidate.step;
  return {{"mesh", mesh_json(step.mesh)},
          {"torus_axes", candidate.layout},
          {"strategy", to_string(step.strategy)},
          {"timetable", step.form.timetable.empty() ? Json(nullptr) : Json(step.form.timetable)},
          {"micro_batches", step.form.micro_batches},
          {"remat", name_of(step.form.remat)},
          {"step_s", {{"lower", step.lower.value}, {"upper", step.upper.value}, {"scheduled", step.scheduled.value}}},
          {"t_math_s", step.math.value},
          {"t_comms_s", step.comms.value},
          {"exposed_s", step.exposed.value},
          {"idle_s", step.idle.value},
          {"attention_s", step.attention.value},
          {"context_s", step.context.value},
          {"limiter", name_of(step.limiter)},
          {"memory_bytes",
           {{"weights", step.memory.weights.value},
            {"optimizer", step.memory.optimizer.value},
            {"others", step.memory.others.value}}},
          {"flops", {{"model", (step.flops - step.repeated).value}, {"repeated", step.repeated.value}}},
          {"fits", candidate.knows_memory() ? Json(candidate.fits()) : Json(nullptr)}};
}

Json memory_json(const PlanAnswer& answer) {
  const PlanQuestion& question = answer.question;
  const auto weights = static_cast<double>(answer.parameters.total());
  Json activations = Json::object();
  const auto tokens = static_cast<double>(question.run.tokens);
  for (const Remat remat : kRemats) {
    const Bytes kept = activation_bytes(question.run.config, tokens, remat, question.closed.element);
    activations[std::string(name_of(remat))] = kept.value;
  }
  return {{"weights", question.closed.element.value * weights},
          {"optimizer", static_cast<double>(2 * size_of(question.run.optimizer)) * weights},
          {"activations", activations},
          {"kv_cache_per_token", kv_cache_per_token(question.run.config, question.closed.element).value},
          {"kv_cache_per_token_int8", kv_cache_per_token(question.run.config, Bytes(1)).value}};
}

Json experts_json(const PlanAnswer& answer) {
  if (!answer.experts) return nullptr;
  const ExpertsAnswer& form = *answer.experts;
  const Experts& experts = answer.question.run.config.experts;
  Json json{{"count", experts.count},
            {"chosen", experts.chosen},
            {"capacity", nullptr},
            {"least_batch", nullptr},
            {"sharding", nullptr}};
  const double capacity = answer.question.run.capacity;
  if (capacity > 0) json["capacity"] = capacity;
  if (form.least_batch > 0) json["least_batch"] = {{"stored", form.least_batch}, {"int8", form.least_batch_int8}};
  if (!form.sharding) return json;
  const ExpertSharding& sharding = *form.sharding;
  json["sharding"] = {
      {"mesh", {{"X", static_cast<Index>(sharding.mesh.x)}, {"Z", static_cast<Index>(sharding.mesh.z)}}},
      {"sent_bytes", sharding.sent.value},
      {"all_to_all_s", sharding.all_to_all.value},
      {"all_gather_s", sharding.all_gather.value},
      {"int8_weights", {{"Z", static_cast<Index>(sharding.all_ways)}, {"bytes", sharding.weights.value}}}};
  return json;
}

Json parameters_json(const ParameterParts& parts) {
  return {{"feed_forward", parts.feed_forward}, {"experts", parts.experts},       {"router", parts.router},
          {"attention", parts.attention},       {"vocabulary", parts.vocabulary}, {"norms", parts.norms}};
}

}  // namespace

Json plan_record(const PlanAnswer& answer) {
  const PlanQuestion& question = answer.question;
  const bool priced = answer.left_out.empty();
  Json record =
      quiet_header("shardline.plan/1", "plan", priced ? answer.candidates[0].step.mesh : question.meshes[0].mesh);
  record["machine_file"] = machine_file_json(question.given, {});
  record["dtype"] = name_of(question.run.dtype);
  record["model"] = answer.options.model;
  record["remarks"] = question.remarks;
  record["hardware"] = question.hardware_name;
  record["chips"] = answer.all_chips();
  record["pods"] = answer.options.pods;
  record["batch_tokens"] = question.run.tokens;
  record["seq"] = question.run.sequence;
  record["parameters"] = answer.parameters.total();
  record["active_parameters"] = answer.active.total();
  record["parameters_by_part"] = parameters_json(answer.parameters);
  record["experts"] = experts_json(answer);
  record["flops_per_token"] = answer.token_flops.products.value;
  record["attention_flops_per_token"] = answer.token_flops.attention.value;
  record["attention_equals_rest"] = nullptr;
  if (priced)
    record["attention_equals_rest"] = {{"seq", answer.equal.computed}, {"seq_without_mask", answer.equal.unmasked}};
  record["training"] = {{"tokens", answer.options.tokens},
                        {"utilisation", answer.options.utilisation},
                        {"days", answer.training_time(false).value / 86400},
                        {"days_with_attention", answer.training_time(true).value / 86400}};
  record["memory_bytes"] = memory_json(answer);
  record["closed_form"] = closed_form_json(answer);
  record["training"]["cost"] = nullptr;
  if (answer.options.price_per_hour > 0) {
    record["training"]["cost"] = answer.cost();
  }
  record["candidates"] = Json::array();
  for (const PlanCandidate& each : answer.candidates) record["candidates"].push_back(candidate_json(each));
  record["left_out"] = priced ? Json(nullptr) : Json(answer.left_out);
  const bool fits = priced && answer.candidates[0].fits();
  record["best"] = fits ? candidate_json(answer.candidates[0]) : Json(nullptr);
  return record;
}

}  // namespace shardline::tools
