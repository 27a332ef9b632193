#include "tools/product/product_report.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "program/ir/print.h"
#include "program/plan/timeline.h"
#include "runtime/layout/blocks.h"
#include "tools/output/text.h"
#include "tools/output/words.h"

namespace shardline::tools {
namespace {

/// The steps of a candidate except its products: "AllGather_X(A[I, J_X])".
std::string conversions_of(const RankProgram& program) {
  std::vector<std::string> conversions;
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::compute) continue;
    const std::string line = to_string(program, step);
    conversions.push_back(line.substr(line.find(" = ") + 3));
  }
  return conversions.empty() ? "nothing to move" : fmt::format("{}", fmt::join(conversions, ", "));
}

/// The clause that gives the reason for a price difference.
std::string difference(const ProgramPrice& better, const ProgramPrice& worse) {
  const bool moving = worse.comms > worse.math;
  if (moving && better.wire_bytes < worse.wire_bytes) {
    return fmt::format("it moves {} instead of {}", to_string(better.wire_bytes), to_string(worse.wire_bytes));
  }
  if (!moving && better.flops < worse.flops) {
    return fmt::format("its busiest rank computes {} instead of {}", to_string(better.flops), to_string(worse.flops));
  }
  if (better.comms < worse.comms) {
    return fmt::format("its communication takes {} instead of {}", to_string(better.comms), to_string(worse.comms));
  }
  if (better.math < worse.math) {
    return fmt::format("its computation takes {} instead of {}", to_string(better.math), to_string(worse.math));
  }
  return fmt::format("its steps take {} together instead of {}", to_string(better.sum), to_string(worse.sum));
}

Json candidate_json(std::size_t number, const Candidate& candidate, const Prediction& predicted) {
  const ProgramPrice& price = candidate.price;
  return {{"number", number},
          {"program", lines(candidate.program)},
          {"wire_bytes", price.wire_bytes.value},
          {"flops", price.flops.value},
          {"price_s", {{"math", price.math.value}, {"comms", price.comms.value}, {"total", price.total.value}}},
          {"limiter", name_of(price.limiter)},
          {"predicted_s", predicted_json(predicted)}};
}

/// "fused: A[I, J] = AllGather_X(A[I, J_X]) with C[I, K] = A[I, J] *_J B[J, K]"
std::string fused_text(const RankProgram& program, const Action& action) {
  std::vector<std::string> parts;
  for (const int number : action.steps) {
    parts.push_back(to_string(program, program.steps[static_cast<std::size_t>(number)]));
  }
  return fmt::format("fused, panel by panel: {}\n", fmt::join(parts, " with "));
}

/// "16.4 kB (16384 B)"
std::string exact_bytes(Bytes bytes) {
  return bytes.value < 1000 ? to_string(bytes) : fmt::format("{} ({:.0f} B)", to_string(bytes), bytes.value);
}

/// "A[I_X, J]: 16.4 kB (16384 B) on each rank, 524 kB (524288 B) on all 32, 2 times one whole copy"
std::string memory_text(const Product& product, const Sharding& sharding, DType dtype) {
  const Array& array = product.program.array(product.result);
  const Index largest = element_count(largest_local_shape(array.shape, sharding, product.mesh));
  Index shards = 1;
  for (const Axes& axes : sharding.dims) shards *= product.mesh.size(axes);
  const Index copies = product.mesh.ranks() / shards;
  const Index whole = element_count(array.shape);
  const Bytes on_each(static_cast<double>(largest * size_of(dtype)));
  const Bytes on_all = static_cast<double>(copies) * Bytes(static_cast<double>(whole * size_of(dtype)));
  return fmt::format("{}: {}{} on each rank, {} on all {}, {} time{} the size of the whole array\n",
                     to_string(array.name, array.dims, sharding), largest * shards == whole ? "" : "at most ",
                     exact_bytes(on_each), exact_bytes(on_all), product.mesh.ranks(), copies, copies == 1 ? "" : "s");
}

std::string memory_text(const Product& product, DType dtype) {
  const Sharding& before = product.sharding(product.operands[0]);
  const Sharding& after = product.result_sharding();
  return memory_text(product, before, dtype) + (before == after ? "" : memory_text(product, after, dtype));
}

std::string case_text(const AxisCase& axis) {
  const std::string where = axis.makes.empty() ? "" : fmt::format(" in {}", axis.makes);
  return fmt::format("axis {}{}: case {}, {}\n", axis.axis, where, axis.number, axis.reason);
}

}  // namespace

Prediction predict(const Compiled& compiled) {
  return {.price = price(compiled.program(), compiled.estimates(), compiled.predictions()),
          .scheduled = compiled.time().total};
}

std::string derivation_text(const Product& product, const std::vector<Candidate>& candidates, Index chosen,
                            const ProgramSchedule& schedule, DType dtype) {
  const RankProgram& program = candidates[static_cast<std::size_t>(chosen - 1)].program;
  std::string text = fmt::format("{}\nmesh {}, {}", product.to_string(), product.mesh.to_string(), name_of(dtype));
  for (const auto& [dim, size] : product.program.sizes) text += fmt::format(", {}={}", dim, size);
  text += "\n\n";
  if (product.converts()) text += memory_text(product, dtype);
  for (const AxisCase& axis : cases(product, program)) text += case_text(axis);
  if (program.steps.empty()) return text + "\nnothing to do: the array lies as it is wanted\n\n";
  text += fmt::format("\nprogram of every rank (candidate {} of {}):\n", chosen, candidates.size());
  for (const std::string& line : lines(program)) text += "  " + line + "\n";
  for (const Action& action : schedule.actions) {
    if (action.kind == ActionKind::fuse) text += fused_text(program, action);
  }
  return text + "\n";
}

std::string candidates_text(const std::vector<Candidate>& candidates) {
  if (candidates[0].program.steps.empty()) return "";
  std::string text = fmt::format("{:>9} {:>9} {:>9} {:>9} {:>9}  {:<8} {}\n", "candidate", "price", "T_math", "T_comms",
                                 "wire", "limiter", "moves");
  const std::size_t listed = std::min(candidates.size(), kMostListed);
  for (std::size_t i = 0; i < listed; ++i) {
    const ProgramPrice& price = candidates[i].price;
    text += fmt::format("{:>9} {:>9} {:>9} {:>9} {:>9}  {:<8} {}\n", i + 1, to_string(price.total),
                        to_string(price.math), to_string(price.comms), to_string(price.wire_bytes),
                        name_of(price.limiter), conversions_of(candidates[i].program));
  }
  if (candidates.size() > listed) text += fmt::format("and {} more; --json has all\n", candidates.size() - listed);
  return text + explained_words(text) + "\n" + why_first(candidates) + "\n";
}

std::string why_first(const std::vector<Candidate>& candidates) {
  if (candidates[0].program.program.operations.empty()) {
    return "an array is converted by the path on which the fewest elements leave a rank";
  }
  if (candidates.size() == 1) return "there is no other way";
  const ProgramPrice& first = candidates[0].price;
  const ProgramPrice& second = candidates[1].price;
  if (!cheaper(first, second)) return "candidate 1 costs as much as 2 and was found first";
  const double ratio = second.total / first.total;
  if (ratio < 1.0005 && to_string(first.sum) == to_string(second.sum)) {
    return "candidate 1 costs as much as 2, to the digits shown";
  }
  if (ratio < 1.0005) {
    return fmt::format(
        "candidate 1 costs as much as 2 where they overlap, and its steps take {} together instead of {}",
        to_string(first.sum), to_string(second.sum));
  }
  const std::string by = ratio < 1.05  ? fmt::format("{:.1f}% cheaper", 100 * (1 - 1 / ratio))
                         : ratio < 100 ? fmt::format("{:.1f} times cheaper", ratio)
                                       : fmt::format("{:.0f} times cheaper", ratio);
  return fmt::format("candidate 1 is {} than 2: {}", by, difference(first, second));
}

Json predicted_json(const Prediction& prediction) {
  const ProgramPrice& price = prediction.price;
  return {{"lower", price.busiest().value}, {"upper", price.sum.value}, {"scheduled", prediction.scheduled.value}};
}

void add_product_keys(Json& json, const Product& product, const std::vector<Candidate>& candidates,
                      const std::vector<Prediction>& predicted, Index chosen) {
  const RankProgram& program = candidates[static_cast<std::size_t>(chosen - 1)].program;
  json["expression"] = product.to_string();
  json["sizes"] = product.program.sizes;
  json["cases"] = Json::array();
  for (const AxisCase& axis : cases(product, program)) {
    Json entry{{"axis", axis.axis}, {"case", axis.number}};
    if (!axis.makes.empty()) entry["makes"] = axis.makes;
    json["cases"].push_back(std::move(entry));
  }
  json["program"] = lines(program);
  json["chosen"] = chosen;
  json["candidates"] = Json::array();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    json["candidates"].push_back(candidate_json(i + 1, candidates[i], predicted[i]));
  }
  json["why"] = why_first(candidates);
  json["predicted_s"] = predicted_json(predicted[static_cast<std::size_t>(chosen - 1)]);
}

}  // namespace shardline::tools
