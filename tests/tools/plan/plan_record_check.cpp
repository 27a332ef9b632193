// Parses a record of `shardline plan --json` and reports missing values, values of a wrong kind and contradictions.
//
//   plan_record_check FILE
//   plan_record_check --train FILE FILE     whether a record of train predicts the first candidate of a plan

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/tools/record_faults.h"

namespace {

using shardline::record::expect;
using shardline::record::faults;
using shardline::record::Json;

double product(const Json& mesh) {
  double all = 1;
  for (const auto& [axis, size] : mesh.items()) all *= size.get<double>();
  return all;
}

/// Stages have a timetable, and only they; only what is kept less of repeats FLOPs.
void check_form(const Json& candidate) {
  const bool staged = candidate.at("strategy").get<std::string>().find("pp=") != std::string::npos;
  expect(candidate.at("timetable").is_string() == staged, "a timetable goes with stages");
  expect(candidate.at("micro_batches").get<int>() >= 1, "fewer than one micro-batch");
  const bool repeats = candidate.at("flops").at("repeated").get<double>() > 0;
  expect((candidate.at("remat").get<std::string>() != "none") == repeats, "repeated FLOPs do not go with remat");
  expect(staged || candidate.at("idle_s") == 0, "ranks without stages wait for stages");
}

/// The torus axes of a mesh axis hold it, and others only if these have none of their own. All of them have all chips,
/// except what joins pods.
void check_torus(const Json& candidate) {
  const Json& mesh = candidate.at("mesh");
  double laid = 1;
  for (const auto& [axis, sides] : candidate.at("torus_axes").items()) {
    double all = 1;
    for (const Json& side : sides) all *= side.get<double>();
    const double size = mesh.contains(axis) ? mesh[axis].get<double>() : 0;
    expect(size > 0 && std::fmod(all, size) == 0, "torus axes do not hold axis " + axis);
    laid *= all;
  }
  const double pods = mesh.contains("pods") ? mesh["pods"].get<double>() : 1;
  expect(candidate["torus_axes"].empty() || laid * pods == product(mesh), "torus axes do not hold the mesh");
}

void check_candidate(const Json& candidate, double chips) {
  const Json& times = candidate.at("step_s");
  const double lower = times.at("lower").get<double>();
  const double scheduled = times.at("scheduled").get<double>();
  const double upper = times.at("upper").get<double>();
  expect(lower > 0 && lower <= scheduled * (1 + 1e-9) && scheduled <= upper * (1 + 1e-9), "step_s is not in order");
  expect(product(candidate.at("mesh")) <= chips, "a mesh of more chips than there are");
  check_torus(candidate);
  const auto strategy = candidate.at("strategy").get<std::string>();
  const bool splits_sequences = strategy.find("cp") != std::string::npos;
  const bool stages = strategy.find("pp=") != std::string::npos;  // the busiest may have no attention
  const bool moves = candidate.at("context_s").get<double>() > 0;
  expect(moves == splits_sequences || (stages && !moves), "context_s does not go with cp");
  expect(candidate.at("fits").is_boolean() || candidate["fits"].is_null(), "fits is neither true, false nor unknown");
  check_form(candidate);
  const double math = candidate.at("t_math_s").get<double>();
  const double comms = candidate.at("t_comms_s").get<double>();
  expect(lower >= math * (1 - 1e-9), "lower is less than what is computed takes");
  expect(lower >= std::min(comms, scheduled) * (1 - 1e-9), "lower is less than the busiest link takes");
  const Json& memory = candidate.at("memory_bytes");
  for (const char* part : {"weights", "optimizer", "others"}) {
    expect(memory.at(part).get<double>() > 0, std::string("no bytes of ") + part);
  }
  const std::string limiter = candidate.at("limiter").get<std::string>();
  expect(comms > math ? limiter == "link" || limiter == "latency" || limiter == "memory"
                      : limiter == "compute" || limiter == "memory" || limiter == "latency",
         "the limiter does not go with the times");
}

/// The X of a closed form is the power of two with the least communication: the neighbours with more than one
/// chip on both axes move no less.
void check_closed_form(const Json& form) {
  const double x = form.at("mesh").at("X").get<double>();
  const double fsdp = form.at("t_fsdp_s").get<double>();
  const double tensor = form.at("t_tensor_s").get<double>();
  const double y = form["mesh"].at("Y").get<double>();
  if (x > 1 && y > 2) expect(2 * fsdp + tensor / 2 >= (fsdp + tensor) * (1 - 1e-9), "twice the X moves less");
  if (x > 2 && y > 1) expect(fsdp / 2 + 2 * tensor >= (fsdp + tensor) * (1 - 1e-9), "half the X moves less");
  const double real = form.at("optimal_x").get<double>();
  const bool between = x > 1 && y > 1;
  expect(real > 0 && (!between || (x <= 2 * real && 2 * x >= real)), "the real optimum is far from the power of two");
  expect(y > 1 || tensor == 0, "an axis of one chip moves something");
  expect(x > 1 || fsdp == 0, "an axis of one chip moves something");
  expect(form.at("compute_bound").get<bool>() == (fsdp + tensor < form.at("t_math_s").get<double>()),
         "compute_bound does not follow from the times");
}

/// A token passes as many experts as are chosen, and sends its elements to each of them.
void check_experts(const Json& record) {
  const Json& experts = record.at("experts");
  const double all = record.at("parameters").get<double>();
  const double active = record.at("active_parameters").get<double>();
  const double of_experts = record.at("parameters_by_part").at("experts").get<double>();
  expect(experts.is_null() == (of_experts == 0), "experts do not go with their weights");
  if (experts.is_null()) {
    expect(active == all, "a token does not pass all weights");
    return;
  }
  const double held = experts.at("count").get<double>() / experts.at("chosen").get<double>();
  expect(std::abs(all - active - of_experts * (1 - 1 / held)) < 1, "a token passes other weights than it chooses");
  const Json& batch = experts.at("least_batch");
  const double bytes = record.at("memory_bytes").at("weights").get<double>() / all;
  if (!batch.is_null()) {
    const double ratio = batch.at("stored").get<double>() / batch.at("int8").get<double>();
    expect(std::abs(ratio - bytes) < 1e-9, "the least batches do not go with the bytes of a weight");
  }
  const Json& sharding = experts.at("sharding");
  if (sharding.is_null()) return;
  const double tokens = record.at("batch_tokens").get<double>() / record.at("pods").get<double>();
  const double sent = sharding.at("sent_bytes").get<double>();
  const double rows = sent * sharding.at("mesh").at("X").get<double>() / (bytes * experts["chosen"].get<double>());
  expect(std::fmod(rows, tokens) == 0, "what is sent is no multiple of the tokens");
  expect(sharding.at("all_to_all_s") < sharding.at("all_gather_s"), "an AllToAll is not cheaper than an AllGather");
  expect(sharding.at("mesh").at("Z") <= experts["count"], "some of Z have no experts");
  const double of_chip = sharding.at("int8_weights").at("bytes").get<double>();
  const double ways = sharding["int8_weights"].at("Z").get<double>();
  expect(std::abs(of_chip - (all - of_experts + of_experts / ways)) < 1, "a chip has other weights than its experts");
}

void check_record(const Json& record) {
  expect(record.at("schema") == "shardline.plan/1", "schema is not shardline.plan/1");
  expect(record.at("command") == "plan", "command is not plan");
  expect(record.at("mesh").is_object() && !record["mesh"].empty(), "mesh is no object with axes");
  expect(!record.at("valid_timing").get<bool>() && record.contains("valid_timing_reason"), "nothing was timed");
  double parts = 0;
  for (const auto& [name, count] : record.at("parameters_by_part").items()) parts += count.get<double>();
  expect(parts == record.at("parameters").get<double>(), "the parts are not the parameters");
  const double active = record.at("active_parameters").get<double>();
  expect(record.at("flops_per_token").get<double>() == 6 * active, "FLOPs of a token are not 6 a parameter it passes");
  check_experts(record);
  const bool priced = record.at("left_out").is_null();
  const Json& equal = record.at("attention_equals_rest");
  expect(equal.is_null() != priced, "attention is compared with a program that is not derived");
  if (priced) expect(equal.at("seq") > equal.at("seq_without_mask"), "a mask does not leave less to attention");
  const Json& memory = record.at("memory_bytes");
  expect(memory.at("weights").get<double>() >= 2 * parts, "weights take less than two bytes");
  expect(memory.at("optimizer").get<double>() >= 8 * parts, "the optimizer takes less than eight bytes a weight");
  for (const char* policy : {"none", "matmuls", "stream", "block"}) {
    expect(memory.at("activations").at(policy).get<double>() > 0, std::string("no activations of policy ") + policy);
  }
  const double chips = record.at("chips").get<double>();
  const Json& form = record.at("closed_form");
  if (!form.is_null()) {
    check_closed_form(form);
    check_closed_form(form.at("with_backward").at("kept"));
    check_closed_form(form["with_backward"].at("regathered"));
    expect(form.at("strategies").size() >= 4, "fewer than four strategies");
  }
  expect(record.at("candidates").empty() != priced, "a step is priced that is left out, or none is");
  for (const Json& candidate : record["candidates"]) check_candidate(candidate, chips);
  const Json& best = record.at("best");
  if (priced)
    expect(best.is_null() == (record["candidates"][0]["fits"] == false), "the best is not the first that fits");
  expect(priced || best.is_null(), "a step is the best that is left out");
  if (!best.is_null()) expect(best == record["candidates"][0], "the best is not the first candidate");
  expect(record.at("training").at("days").get<double>() > 0, "training takes no time");
}

Json read(const char* path) {
  std::ifstream file(path);
  return Json::parse(file);
}

/// Both price the same operations. Only the place of attention's operands differs.
void check_same(const Json& plan, const Json& train) {
  const double planned = plan.at("candidates").at(0).at("step_s").at("scheduled").get<double>();
  const double predicted = train.at("steps").back().at("predicted_step_s").get<double>();
  std::cerr << "planned " << planned << " s, predicted " << predicted << " s\n";
  // With stages the plan prices one micro-batch of three layers, and what the caches of a measured machine hold of it.
  const bool staged = plan["candidates"][0].at("timetable").is_string();
  expect(std::abs(planned / predicted - 1) < (staged ? 0.15 : 0.05), "the plan is not what train predicts");
  const double planned_memory = plan["candidates"][0].at("memory_bytes").at("weights").get<double>() +
                                plan["candidates"][0]["memory_bytes"].at("optimizer").get<double>() +
                                plan["candidates"][0]["memory_bytes"].at("others").get<double>();
  const double memory = train.at("peak_memory_bytes").at("predicted").get<double>();
  expect(std::abs(planned_memory / memory - 1) < (staged ? 0.15 : 0.02), "the plan takes another memory than train");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--train") {
    check_same(read(argv[2]), read(argv[3]));
  } else if (argc == 2) {
    check_record(read(argv[1]));
  } else {
    return 2;
  }
  return faults == 0 ? 0 : 1;
}
