// Parses a record of `shardline train --json` and reports missing values and values of a wrong kind.
//
//   train_record_check FILE STEPS [OTHER]     (OTHER: a record whose losses and norms must have the same bits)

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/record_faults.h"

namespace {

using shardline::record::expect;
using shardline::record::faults;
using shardline::record::Json;

void expect_numbers(const Json& object, const std::string& name, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    expect(object.contains(key) && object[key].is_number(), name + " has no number " + key);
  }
}

Json read(const char* path) { return Json::parse(std::ifstream(path)); }

/// Without a loss of text, the operations are the lines of the program.
void check_lines(const Json& record) {
  expect(record["operations"].size() == record["program"].size(), "operations are not the lines of the program");
  if (faults > 0) return;
  for (std::size_t i = 0; i < record["program"].size(); ++i) {
    const Json& operation = record["operations"][i];
    expect(operation["text"] == record["program"][i], "operation " + std::to_string(i) + " is another line");
    expect(operation["measured_s"].get<double>() > 0, "line " + std::to_string(i) + " took no time");
    expect(operation["predicted_s"].get<double>() > 0, "line " + std::to_string(i) + " has no prediction");
    for (const char* key : {"kind", "axis", "limiter"}) {
      expect(operation[key].is_string(), std::string("a line has no text ") + key);
    }
  }
}

/// The parts of a stage's time add up to the time of the step, and none is negative.
void check_parts(const Json& of_stage, double step, double predicted) {
  for (const auto& [kind, whole] : {std::pair("measured", step), std::pair("predicted", predicted)}) {
    const Json& parts = of_stage.at("time_s").at(kind);
    expect_numbers(parts, "a stage", {"computing", "start_and_end", "uneven", "moves"});
    double sum = 0;
    for (const Json& part : parts) {
      expect(part.get<double>() >= 0, "a stage lost less than nothing");
      sum += part.get<double>();
    }
    expect(parts.at("computing").get<double>() > 0, "a stage computes nothing");
    expect(std::abs(sum - whole) <= 1e-9 * whole, "the times of a stage do not add up to the step");
  }
}

void check_stages(const Json& record) {
  const Json& shown = record.at("shown_step");
  const Json& step = record.at("steps").at(shown.at("step").get<std::size_t>() - 1);
  expect(shown.at("step_s") == step.at("step_s"), "the shown step has another time");
  for (const Json& stage : record.at("stages")) {
    check_parts(stage, step.at("step_s"), step.at("predicted_step_s"));
    for (const auto& [kind, whole] : {std::pair("measured", "step_s"), std::pair("predicted", "predicted_step_s")}) {
      const double computing = stage.at("time_s").at(kind).at("computing");
      const double idle = stage.at("idle_share").at(kind);
      expect(std::abs(idle - (1 - computing / step.at(whole).get<double>())) < 1e-9, "the idle share is another");
    }
    expect_numbers(stage.at("peak_memory_bytes"), "peak_memory_bytes of a stage", {"predicted", "measured"});
  }
  check_parts(record.at("all_stages"), step.at("step_s"), step.at("predicted_step_s"));
}

void check_record(const Json& record, std::size_t steps) {
  for (const char* key :
       {"schema", "command", "mesh", "machine", "valid_timing", "busy_with_others", "steps", "operations", "program"}) {
    expect(record.contains(key), std::string("the record has no key ") + key);
  }
  expect_numbers(record, "the record", {"val_loss", "parameters", "flops_per_step", "mfu"});
  expect(record.contains("bigram_loss"), "the record has no key bigram_loss");
  if (faults > 0) return;
  const std::string hash = record.value("weights_hash", "");
  expect(hash.size() == 16 && hash.find_first_not_of("0123456789abcdef") == std::string::npos,
         "weights_hash is no 16 digits");
  expect(record["schema"] == "shardline.train/1" && record["command"] == "train", "it is of another command");
  expect_numbers(record["peak_memory_bytes"], "peak_memory_bytes", {"predicted", "measured"});
  expect(record["steps"].size() == steps, "it has another number of steps");
  for (std::size_t i = 0; i < record["steps"].size(); ++i) {
    const Json& step = record["steps"][i];
    const char* rate = record["bigram_loss"].is_null() ? "samples_per_s" : "tokens_per_s";  // an MLP has no tokens
    expect_numbers(step, "a step", {"step", "loss", "grad_norm", rate, "step_s", "predicted_step_s"});
    expect(step["step"] == i + 1, "steps do not count from 1");
    expect(step["loss"].get<double>() > 0 && step["step_s"].get<double>() > 0, "a step has no loss or took no time");
  }
  double flops = 0;
  for (const Json& operation : record["operations"]) {
    expect_numbers(operation, "an operation",
                   {"bytes", "wire_bytes", "flops", "predicted_s", "measured_s", "exposed_s"});
    flops += operation["flops"].get<double>();
  }
  expect(flops > 0, "the operations compute nothing");
  expect(!record["program"].empty() && record["program"][0].is_string(), "the program has no lines");
  const bool stages = record.contains("stages");  // the lines of several programs are joined
  if (record["bigram_loss"].is_null() && !stages) check_lines(record);
  if (stages) check_stages(record);
}

void check_same_bits(const Json& record, const Json& other) {
  expect(record["steps"].size() == other["steps"].size(), "the records differ in length");
  for (std::size_t i = 0; i < std::min(record["steps"].size(), other["steps"].size()); ++i) {
    for (const char* key : {"loss", "grad_norm"}) {
      expect(record["steps"][i][key].get<double>() == other["steps"][i][key].get<double>(),
             "step " + std::to_string(i + 1) + " differs in " + key);
    }
  }
  expect(record["val_loss"] == other["val_loss"], "the held-out losses differ");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::cerr << "usage: train_record_check FILE STEPS [OTHER]\n";
    return 2;
  }
  const Json record = read(argv[1]);
  check_record(record, static_cast<std::size_t>(std::atoi(argv[2])));
  if (argc == 4 && faults == 0) check_same_bits(record, read(argv[3]));
  return faults == 0 ? 0 : 1;
}
