#include <nlohmann/json.hpp>

#include "tools/output/quiet_record.h"
#include "tools/plan/generate_answer.h"

namespace shardline::tools {
namespace {

Json frontier_point_json(const GenerateAnswer& answer, const FrontierPoint& point) {
  const double price = answer.options.price_per_hour;
  Json json{{"chips", static_cast<Index>(point.load.chips)},
            {"batch", static_cast<Index>(point.load.sequences)},
            {"split", name_of(point.links.split)},
            {"split_chips", {{"X", point.links.x}, {"Y", point.links.y}, {"Z", point.links.z}}},
            {"parameters_s", point.step.parameters.value},
            {"caches_s", point.step.caches.value},
            {"attention_s", point.step.attention.value},
            {"flops_s", point.step.flops.value},
            {"links_s", point.links.time.value},
            {"step_s", {{"lower", point.lower().value}, {"upper", point.upper().value}}},
            {"tokens_per_s_chip", point.tokens_per_chip()},
            {"fits", answer.question.knows_memory() ? Json(point.fits) : Json(nullptr)},
            {"cost_per_million", nullptr}};
  if (price > 0) {
    json["cost_per_million"] = cost_per_million(price, point.load.chips, point.lower(), point.load.sequences);
  }
  return json;
}

Json generation_decode_json(const GenerateAnswer& answer) {
  Json json = frontier_point_json(answer, answer.decode);
  json["critical_batch"] = answer.critical;
  json["most_sequences"] = answer.most ? Json(static_cast<Index>(*answer.most)) : Json(nullptr);
  json["least_chips"] = answer.most ? Json(answer.least_chips) : Json(nullptr);
  json["queries_per_s_chip"] = answer.queries_per_chip();
  json["evicted_tokens"] = answer.evicted();
  json["least_chips_of_2d"] = answer.least_chips_of_two_axes ? Json(*answer.least_chips_of_two_axes) : Json(nullptr);
  return json;
}

Json generation_prefill_json(const GenerateAnswer& answer) {
  const PrefillTime& prefill = answer.prefill;
  const bool priced = answer.options.price_per_hour > 0;
  return {{"chips", answer.question.chips},
          {"tokens", answer.question.prompt_tokens},
          {"utilisation", answer.options.utilisation},
          {"flops_s", prefill.products.value},
          {"parameters_s", prefill.parameters.value},
          {"attention_s", prefill.attention.value},
          {"time_s", prefill.total().value},
          {"servers", {{"with_attention", answer.servers(true)}, {"without_attention", answer.servers(false)}}},
          {"cost_per_million", priced ? Json(answer.cost_of_prompt()) : Json(nullptr)}};
}

Json generation_slices_json(const GenerateAnswer& answer) {
  Json slices = Json::array();
  for (const SliceAnswer& each : answer.slices) {
    Json json = frontier_point_json(answer, each.point);
    json["dtype"] = each.type.name;
    json["weights_bytes"] = each.weights.value;
    json["room_bytes"] = each.room.value;
    json["critical_batch"] = each.critical;
    json["queries_per_s_chip"] = each.queries_per_chip;
    slices.push_back(json);
  }
  return slices;
}

Json generation_frontier_json(const GenerateAnswer& answer) {
  Json points = Json::array();
  for (const FrontierPoint& each : answer.frontier) {
    points.push_back(frontier_point_json(answer, each));
    points.back()["best"] = each.best;
  }
  return points;
}

}  // namespace

Json generate_record(const GenerateAnswer& answer) {
  const GenerateQuestion& question = answer.question;
  const GenerationModel& model = question.frontier.model;
  const AbstractMesh mesh({{usual_axes().front(), question.chips}});
  Json record = quiet_header("shardline.plan/1", "plan", mesh);
  record["machine_file"] = machine_file_json(question.hardware.given, {});
  record["model"] = answer.options.model;
  record["remarks"] = question.remarks;
  record["hardware"] = question.hardware.name;
  record["chips"] = question.chips;
  record["parameters"] = static_cast<Index>(answer.parameters);
  record["active_parameters"] = static_cast<Index>(model.parameters);
  record["generate"] = {{"dtype", question.weights.name},
                        {"cache_dtype", question.caches.name},
                        {"products_dtype", question.products},
                        {"prompt_tokens", question.prompt_tokens},
                        {"new_tokens", question.new_tokens},
                        {"context", question.context},
                        {"weights_bytes", model.weights.value},
                        {"cache_bytes_per_token", model.cache_per_token.value},
                        {"prefill", generation_prefill_json(answer)},
                        {"decode", generation_decode_json(answer)},
                        {"derived", derived_json(question, answer.derived)},
                        {"derived_axes", derived_axes_json(answer.derived)},
                        {"slices", generation_slices_json(answer)},
                        {"frontier", generation_frontier_json(answer)},
                        {"within_limit", answer.within ? frontier_point_json(answer, *answer.within) : Json(nullptr)}};
  return record;
}

}  // namespace shardline::tools
