#include "tools/matmul_report.h"

#include <algorithm>

#include "program/print.h"
#include "tools/statistics.h"

namespace shardline::tools {
namespace {

Seconds mean(Seconds total, int count) { return total * (1.0 / std::max(count, 1)); }

Json to_json(const PredictedTime& time) {
  return {{"lower", time.lower.value}, {"upper", time.upper.value}, {"scheduled", time.scheduled.value}};
}

std::string operations_table(const std::vector<TimedStep>& steps) {
  std::size_t width = 9;
  for (const TimedStep& step : steps) width = std::max(width, step.label.name.size());
  std::string text = fmt::format("{:<{}} {:>9} {:>12} {:>10} {:>10} {:>6}  {}\n", "operation", width, "wire", "FLOPs",
                                 "measured", "predicted", "ratio", "limiter");
  for (const auto& [label, measured] : steps) {
    const Seconds time = mean(measured.total, measured.count);
    text += fmt::format("{:<{}} {:>9} {:>12} {:>10} {:>10} {:>6.2f}  {}\n", label.name, width,
                        to_string(label.wire_bytes), to_string(label.flops), to_string(time),
                        to_string(label.predicted), time / label.predicted, label.limiter);
  }
  return text;
}

Json operation_json(const TimedStep& step) {
  const auto& [label, measured] = step;
  return {{"text", label.name},
          {"kind", label.kind},
          {"axis", label.axis},
          {"bytes", label.bytes.value},
          {"wire_bytes", label.wire_bytes.value},
          {"flops", label.flops.value},
          {"predicted_s", label.predicted.value},
          {"measured_s", mean(measured.total, measured.count).value},
          {"exposed_s", mean(measured.exposed, measured.count).value},
          {"limiter", label.limiter}};
}

Json candidate_json(std::size_t number, const PricedCandidate& candidate) {
  Bytes wire;
  Flops flops;
  for (const StepEstimate& estimate : candidate.estimates) {
    wire += estimate.wire_bytes;
    flops += estimate.flops;
  }
  return {{"number", number},
          {"program", lines(candidate.program)},
          {"wire_bytes", wire.value},
          {"flops", flops.value},
          {"predicted_s", to_json(predicted_time(candidate.program, candidate.estimates))}};
}

}  // namespace

PredictedTime predicted_time(const RankProgram& program, const std::vector<StepEstimate>& estimates) {
  Seconds math;
  Seconds comms;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    (communicates(program.steps[i].kind) ? comms : math) += estimates[i].price.time;
  }
  return {std::max(math, comms), math + comms, math + comms};
}

std::string derivation_text(const MatmulRecord& record, DType dtype) {
  const Product& product = *record.product;
  std::string text = fmt::format("{}\nmesh {}, {}", product.to_string(), product.mesh.to_string(), name_of(dtype));
  for (const auto& [dim, size] : product.program.sizes) text += fmt::format(", {}={}", dim, size);
  text += "\n\n";
  for (const AxisCase& axis : cases(product)) {
    text += fmt::format("axis {}: case {}, {}\n", axis.axis, axis.number, axis.reason);
  }
  text += fmt::format("\nprogram of every rank (candidate {} of {}):\n", record.chosen, record.candidates.size());
  for (const std::string& line : lines(record.candidate().program)) text += "  " + line + "\n";
  return text + "\n";
}

std::string result_text(const MatmulRecord& record) {
  const auto [fastest, slowest] = std::minmax_element(record.runs.begin(), record.runs.end());
  const PredictedTime predicted = predicted_time(record.candidate().program, record.candidate().estimates);
  std::string text = operations_table(record.steps);
  text += fmt::format("\nwhole product, {} run{}: {} (median; {} to {}), predicted {} to {}\n", record.runs.size(),
                      record.runs.size() == 1 ? "" : "s", to_string(median(record.runs)), to_string(*fastest),
                      to_string(*slowest), to_string(predicted.lower), to_string(predicted.upper));
  text += fmt::format("{}: largest error {:.2e} of the largest element of the dense product in f64 (at most {:.0e})\n",
                      record.correct() ? "correct" : "WRONG", record.accuracy.relative(), record.tolerance);
  return text;
}

void add_keys(Json& json, const MatmulRecord& record) {
  const Product& product = *record.product;
  json["expression"] = product.to_string();
  json["sizes"] = product.program.sizes;
  json["cases"] = Json::array();
  for (const AxisCase& axis : cases(product)) json["cases"].push_back({{"axis", axis.axis}, {"case", axis.number}});
  json["program"] = lines(record.candidate().program);
  json["operations"] = Json::array();
  for (const TimedStep& step : record.steps) json["operations"].push_back(operation_json(step));
  json["chosen"] = record.chosen;
  json["candidates"] = Json::array();
  for (std::size_t i = 0; i < record.candidates.size(); ++i) {
    json["candidates"].push_back(candidate_json(i + 1, record.candidates[i]));
  }
  json["max_rel_error"] = record.accuracy.relative();
  json["correct"] = record.correct();
  json["predicted_s"] = to_json(predicted_time(record.candidate().program, record.candidate().estimates));
  const auto [fastest, slowest] = std::minmax_element(record.runs.begin(), record.runs.end());
  json["measured_s"] = {{"min", fastest->value}, {"median", median(record.runs).value}, {"max", slowest->value}};
}

}  // namespace shardline::tools
