// Parses a record of `shardline plan --generate --json` and reports missing values and contradictions.
//
//   generate_record_check FILE

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/record_faults.h"

namespace {

using shardline::record::expect;
using shardline::record::faults;
using shardline::record::Json;

double number(const Json& json, const char* key) { return json.at(key).get<double>(); }

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

double lower(const Json& point) { return number(point.at("step_s"), "lower"); }

/// The step of a point is the closed form of its parts.
void check_point(const Json& point) {
  const double links = number(point, "links_s");
  const double caches = std::max(number(point, "caches_s"), number(point, "attention_s"));
  const double alone = caches + std::max(number(point, "parameters_s"), number(point, "flops_s"));
  expect(near(lower(point), std::max(alone, links)), "lower is not the longer of memory with FLOPs and links");
  expect(near(number(point.at("step_s"), "upper"), alone + links), "upper is not the sum of all parts");
  const double chips = number(point, "chips");
  expect(near(number(point, "tokens_per_s_chip") * lower(point) * chips, number(point, "batch")),
         "the throughput does not follow from the step");
  const Json& split = point.at("split_chips");
  expect(near(number(split, "X") * number(split, "Y") * number(split, "Z"), chips), "the split has other chips");
  expect((chips == 1) == (point.at("split") == "one chip"), "one chip is split, or several are not");
  expect(point.at("fits").is_boolean() || point["fits"].is_null(), "fits is neither true, false nor unknown");
}

/// The parts of two points grow with sequences, and shrink with chips.
void check_parts(const Json& first, const Json& point, bool dense) {
  const double chips = number(point, "chips") / number(first, "chips");
  const double batch = number(point, "batch") / number(first, "batch");
  expect(near(number(point, "caches_s") * chips, number(first, "caches_s") * batch), "caches do not go with sequences");
  expect(near(number(point, "flops_s") * chips, number(first, "flops_s") * batch), "FLOPs do not go with sequences");
  const double weights = number(point, "parameters_s") * chips;
  const double of_first = number(first, "parameters_s");
  expect(dense ? near(weights, of_first) : weights >= of_first * (1 - 1e-9), "weights do not go with chips");
  if (point.at("cost_per_million").is_null()) return;
  const double cost =
      number(point, "cost_per_million") * number(point, "batch") / number(point, "chips") / lower(point);
  const double other =
      number(first, "cost_per_million") * number(first, "batch") / number(first, "chips") / lower(first);
  expect(near(cost, other), "the cost of a chip's second differs");
}

/// In the order of latency, the best points are those with more throughput than all before.
void check_best(std::vector<Json> points) {
  std::sort(points.begin(), points.end(), [](const Json& a, const Json& b) {
    if (lower(a) != lower(b)) return lower(a) < lower(b);
    return number(a, "tokens_per_s_chip") > number(b, "tokens_per_s_chip");
  });
  double highest = 0;
  for (const Json& point : points) {
    const double tokens = number(point, "tokens_per_s_chip");
    expect(point.at("best").get<bool>() == (tokens > highest), "a point is on the frontier that another beats, or not");
    highest = std::max(highest, tokens);
  }
}

/// Pairs of a smallest slice and its double: the double has room for more than twice as much. Nothing joins the chips
/// of a machine without links: there each slice is one chip.
void check_slices(const Json& slices, bool joined, double new_tokens) {
  std::map<std::string, std::vector<Json>> by_type;
  for (const Json& each : slices) {
    check_point(each);
    by_type[each.at("dtype").get<std::string>()].push_back(each);
    expect(near(number(each, "queries_per_s_chip") * new_tokens, number(each, "tokens_per_s_chip")),
           "queries do not follow from tokens");
    expect(joined || number(each, "chips") == 1, "a slice of chips that nothing joins");
  }
  if (!joined) return;
  for (const auto& [type, pair] : by_type) {
    expect(pair.size() == 2 && number(pair[1], "chips") == 2 * number(pair[0], "chips"),
           type + " has no doubled slice");
    expect(number(pair[1], "room_bytes") >= 2 * number(pair[0], "room_bytes"), "a double has not twice the room");
    expect(number(pair[1], "batch") >= 2 * number(pair[0], "batch"), "a double does not hold twice the caches");
  }
  if (by_type.empty()) return;
  expect(by_type.size() == 3, "not three types");
  const double bf16 = number(by_type.at("bf16")[0], "weights_bytes");
  expect(number(by_type.at("int8")[0], "weights_bytes") * 2 == bf16, "int8 is not half of bf16");
  expect(number(by_type.at("int4")[0], "weights_bytes") * 4 == bf16, "int4 is not a quarter of bf16");
}

void check_prefill(const Json& prefill, const Json& decode, double new_tokens) {
  const double products = std::max(number(prefill, "flops_s"), number(prefill, "parameters_s"));
  expect(near(number(prefill, "time_s"), products + number(prefill, "attention_s")), "the time of a prompt is no sum");
  const double sequences_per_s = number(decode, "batch") / (lower(decode) * new_tokens);
  const Json& servers = prefill.at("servers");
  expect(near(number(servers, "without_attention"), products * sequences_per_s), "servers do not keep up");
  expect(near(number(servers, "with_attention"), number(prefill, "time_s") * sequences_per_s),
         "servers do not keep up");
}

/// A layer in 1D or 2D.
void check_layer(const Json& layer, double chips) {
  double ranks = 1;
  for (const auto& [axis, size] : layer.at("mesh").items()) ranks *= size.get<double>();
  expect(ranks == chips, "a derived program is for other chips");
  const double collectives = number(layer, "collectives_per_layer");
  expect(number(layer, "rounds_per_layer") <= collectives, "more rounds than collectives");
  expect((number(layer, "bytes_per_layer") > 0) == (collectives > 0), "collectives send nothing, or bytes have none");
}

/// A way by derived programs: its step is the closed form of its parts, with what moves.
void check_derived(const Json& way, double chips, double all_bytes) {
  check_layer(way, chips);
  const double caches = number(way, "caches_s"), attention = number(way, "attention_s");
  const double parameters = number(way, "parameters_s"), moving = number(way, "collectives_s");
  const double products = number(way, "flops_s") - attention;
  expect(near(number(way, "reading_s"), parameters + caches), "reading is not the sum of its parts");
  expect(near(number(way, "step_s"), std::max(caches, attention) + std::max(parameters, products) + moving),
         "a derived step is not the sum of its parts");
  expect(number(way, "all_reduces_s") <= moving * (1 + 1e-9), "all_reduces take longer than all collectives");
  expect(number(way, "memory_bytes") * chips >= all_bytes * (1 - 1e-9), "a way loses parameters or caches");
  const Json& prefill = way.at("prefill");
  expect(near(number(prefill, "time_s"), std::max(number(prefill, "flops_s"), number(prefill, "parameters_s")) +
                                             number(prefill, "attention_s") + number(prefill, "collectives_s")),
         "a derived prompt is not the sum of its parts");
}

/// Those that fit, or whose memory is not known, come first, the fastest first.
void check_all_derived(const Json& generate, double chips) {
  const double caches =
      number(generate, "cache_bytes_per_token") * number(generate, "context") * number(generate.at("decode"), "batch");
  const Json* before = nullptr;
  for (const Json& way : generate.at("derived")) {
    check_derived(way, chips, number(generate, "weights_bytes") + caches);
    const auto place = [](const Json& each) { return std::pair(each.at("fits") == false, number(each, "step_s")); };
    expect(before == nullptr || place(*before) <= place(way), "derived ways are not in order");
    before = &way;
  }
  const Json& axes = generate.at("derived_axes");
  if (axes.is_null()) return;
  for (const char* split : {"1d", "2d"}) check_layer(axes.at(split), chips);
  const double one = number(axes["1d"], "bytes_per_layer"), two = number(axes["2d"], "bytes_per_layer");
  if (axes.at("least_chips_of_2d") == chips) expect(two < one, "2D sends more where it is said to send less");
}

void check_record(const Json& record) {
  expect(record.at("schema") == "shardline.plan/1", "schema is not shardline.plan/1");
  expect(record.at("command") == "plan", "command is not plan");
  expect(!record.at("valid_timing").get<bool>(), "nothing was timed");
  const double parameters = number(record, "parameters");
  const bool dense = number(record, "active_parameters") == parameters;
  const Json& generate = record.at("generate");
  const double new_tokens = number(generate, "new_tokens");
  expect(number(generate, "context") >= number(generate, "prompt_tokens") + new_tokens, "the context is too short");
  const Json& decode = generate.at("decode");
  check_point(decode);
  expect(number(decode, "chips") == number(record, "chips"), "decode is on other chips");
  if (decode.at("fits") == true) {
    expect(number(decode, "batch") <= number(decode, "most_sequences"), "more sequences fit than fit");
    expect(number(decode, "least_chips") <= 2 * number(decode, "chips"), "fewer chips do not hold what these hold");
  }
  const double evicted = number(decode, "batch") * (number(generate, "prompt_tokens") + new_tokens) / new_tokens;
  expect(near(number(decode, "evicted_tokens"), evicted), "other tokens leave than come");
  check_prefill(generate.at("prefill"), decode, new_tokens);
  check_all_derived(generate, number(record, "chips"));
  const Json& points = generate.at("frontier");
  expect(!points.empty(), "no frontier");
  const bool joined =
      std::any_of(points.begin(), points.end(), [](const Json& point) { return number(point, "chips") > 1; });
  check_slices(generate.at("slices"), joined, new_tokens);
  for (const Json& point : points) {
    check_point(point);
    check_parts(points[0], point, dense);
    expect(point.at("fits") != false, "a point of the frontier does not fit");
  }
  check_best(points.get<std::vector<Json>>());
  if (!generate.at("within_limit").is_null()) check_point(generate["within_limit"]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1]);
  check_record(Json::parse(file));
  return faults == 0 ? 0 : 1;
}
