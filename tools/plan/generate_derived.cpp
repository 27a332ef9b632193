#include "tools/plan/generate_derived.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "models/architecture/accounting.h"
#include "tools/plan/plan_answer.h"

namespace shardline::tools {
namespace {

DerivedQuery derived_query(const GenerateQuestion& question, double utilisation) {
  return {.config = question.config,
          .sequences = question.batch,
          .context = question.context,
          .prompt_tokens = question.prompt_tokens,
          .utilisation = utilisation,
          .dtype = question.products_type(),
          .cache_dtype = question.caches_type(),
          .weight = question.weights.element,
          .cache = question.caches.element};
}

/// The ways with names for their axes: of chips over every share of their torus axes, of a file with its axes.
std::vector<NamedWay> named_ways(const GenerateQuestion& question, const std::vector<GenerationWay>& ways) {
  const NamedHardware& hardware = question.hardware;
  std::vector<NamedWay> named;
  for (const GenerationWay& way : ways) {
    if (hardware.chip != nullptr) {
      for (NamedWay& laid : laid_ways(*hardware.chip, way)) named.push_back(std::move(laid));
    } else if (hardware.given && question.has_links()) {
      Axes axes;
      for (const auto& [axis, resource] : hardware.given->machine.axes) axes.push_back(axis);
      if (std::optional<NamedWay> in_file = named_way(way, axes)) named.push_back(std::move(*in_file));
    } else {
      named.push_back(named_way(way));
    }
  }
  return named;
}

AxesAnswer axes_answer(const DerivedQuery& query, Index chips, const std::vector<GenerationWay>& two) {
  const GenerationWay one = one_axis_ways(query.config, chips).front();
  return {*least_sent(query, {one}), *least_sent(query, two), least_ranks_for_two_axes(query, kMostChipsCompared)};
}

std::string room_text(const GenerateQuestion& question, const DerivedGeneration& way) {
  if (!question.knows_memory()) return "?";
  return DerivedAnswer::fits(question, way) ? "yes" : "no";
}

/// The cells of a way, in the order of kDerivedColumns.
std::vector<std::string> cells_of(const GenerateQuestion& question, const DerivedGeneration& way) {
  const DerivedDecode& decode = way.decode;
  return {laid_text(decode.mesh, way.layout),
          to_string(decode.strategy),
          to_string(decode.time()),
          to_string(decode.step.parameters),
          to_string(std::max(decode.step.caches, decode.step.attention)),
          to_string(decode.step.flops),
          to_string(decode.collectives),
          to_string(decode.all_reduces),
          fmt::format("{}", decode.layer.collectives),
          fmt::format("{}", decode.layer.rounds),
          to_string(decode.layer.sent),
          to_string(decode.memory),
          room_text(question, way),
          to_string(way.prefill.time()),
          to_string(way.prefill.strategy)};
}

const std::vector<std::string> kDerivedColumns = {
    "mesh, on torus axes", "strategy", "step", "parameters", "caches", "FLOPs",  "collectives", "AllReduces",
    "in a layer",          "rounds",   "sent", "memory",     "fits",   "prompt", "split by"};

std::string way_line(const std::vector<std::string>& cells) {
  constexpr std::array kWidths = {9, 10, 9, 9, 11, 10, 10, 6, 9, 9, 5, 9};  // of the columns between the texts
  std::string line = fmt::format("{:<26} {:<26}", cells.at(0), cells.at(1));
  for (std::size_t column = 0; column < kWidths.size(); ++column) {
    line += fmt::format(" {:>{}}", cells.at(2 + column), kWidths[column]);
  }
  return fmt::format("{}  {}\n", line, cells.back());
}

std::string compared_axes_text(const AxesAnswer& axes) {
  const LayerMoves& one = axes.one.layer;
  const LayerMoves& two = axes.two.layer;
  std::string text =
      fmt::format("In 1D a rank sends {} in a layer, in {} rounds; in 2D at least {}, in {}: {} on {}.\n",
                  to_string(one.sent), one.rounds, to_string(two.sent), two.rounds, to_string(axes.two.way.strategy),
                  axes.two.way.mesh.mesh.to_string());
  if (!axes.least_chips) {
    return text + fmt::format("By bytes alone 1D is ahead up to {} chips (exercise 7.7).\n", kMostChipsCompared);
  }
  return text + fmt::format("By bytes alone 2D is ahead from {} chips on (exercise 7.7).\n", *axes.least_chips);
}

/// What the table says, in words.
std::string derived_words(const GenerateQuestion& question) {
  return fmt::format(
      "a step: caches + the longer of parameters and FLOPs, of what the strategy leaves to a rank, + collectives,\n"
      "as far as its schedule cannot hide them; in a layer: collectives; rounds: those that wait for each other;\n"
      "sent: bytes of a layer that leave a rank; prompt: one of {} tokens. Products and all that moves are in {}.\n",
      question.prompt_tokens, question.products);
}

}  // namespace

bool DerivedAnswer::fits(const GenerateQuestion& question, const DerivedGeneration& way) {
  return !question.knows_memory() || way.decode.memory <= question.frontier.chip.capacity;
}

DerivedAnswer derived_answer_of(const GenerateQuestion& question, double utilisation) {
  DerivedAnswer answer{.left_out = counted_only(question.config), .ways = {}, .axes = {}};
  if (!answer.left_out.empty()) return answer;
  const DerivedQuery query = derived_query(question, utilisation);
  const auto add_fastest = [&](const std::vector<GenerationWay>& ways) {
    auto fastest = fastest_generation(query, named_ways(question, ways),
                                      [&](const ChipMesh& mesh) { return question.hardware_of(mesh); });
    if (fastest) answer.ways.push_back(std::move(*fastest));
  };
  for (const GenerationWay& way : one_axis_ways(question.config, question.chips)) add_fastest({way});
  const std::vector<GenerationWay> two = two_axes_ways(question.config, question.chips);
  add_fastest(two);
  for (const GenerationWay& way : data_parallel_ways(question.chips)) add_fastest({way});
  const auto order = [&](const DerivedGeneration& way) {
    return std::pair(!DerivedAnswer::fits(question, way), way.decode.time().value);
  };
  std::stable_sort(answer.ways.begin(), answer.ways.end(),
                   [&](const DerivedGeneration& a, const DerivedGeneration& b) { return order(a) < order(b); });
  if (!two.empty()) answer.axes = axes_answer(query, question.chips, two);
  return answer;
}

std::string derived_summary_text(const GenerateQuestion& question, const DerivedAnswer& answer) {
  if (answer.ways.empty() || question.chips == 1) return "";
  const DerivedDecode& decode = answer.ways.front().decode;
  std::string text =
      fmt::format("programs    {} a step under {} on {}: {} for what a rank reads and computes + {} of\n",
                  to_string(decode.time()), to_string(decode.strategy), decode.mesh.to_string(),
                  to_string(decode.step.time()), to_string(decode.collectives));
  return text + fmt::format("            collectives, {} in each layer; AllReduces take {} of it\n",
                            decode.layer.collectives, to_string(decode.all_reduces));
}

std::string derived_text(const GenerateQuestion& question, const DerivedAnswer& answer) {
  if (!answer.left_out.empty()) {
    return fmt::format("\n(a) No program is derived: none has {}.\n", answer.left_out);
  }
  if (answer.ways.empty()) {
    return fmt::format("\n(a) No program is derived: {} has no room for a mesh of {} ranks.\n", question.hardware.name,
                       question.chips);
  }
  std::string text =
      "\n(a) Programs derived under some strategies: 1D (book section 7.3), the fastest in 2D (exercise 7.7), and data "
      "parallelism;\n    first those that fit, the fastest first\n\n";
  text += way_line(kDerivedColumns);
  for (const DerivedGeneration& way : answer.ways) text += way_line(cells_of(question, way));
  return text + derived_words(question) + (answer.axes ? compared_axes_text(*answer.axes) : "");
}

Json derived_json(const GenerateQuestion& question, const DerivedAnswer& answer) {
  Json ways = Json::array();
  for (const DerivedGeneration& way : answer.ways) {
    const DerivedDecode& decode = way.decode;
    const DerivedPrefill& prefill = way.prefill;
    ways.push_back({{"mesh", mesh_json(decode.mesh)},
                    {"torus_axes", way.layout},
                    {"strategy", to_string(decode.strategy)},
                    {"step_s", decode.time().value},
                    {"reading_s", decode.reading().value},
                    {"parameters_s", decode.step.parameters.value},
                    {"caches_s", decode.step.caches.value},
                    {"flops_s", decode.flops().value},
                    {"attention_s", decode.step.attention.value},
                    {"collectives_s", decode.collectives.value},
                    {"all_reduces_s", decode.all_reduces.value},
                    {"collectives_per_layer", decode.layer.collectives},
                    {"rounds_per_layer", decode.layer.rounds},
                    {"bytes_per_layer", decode.layer.sent.value},
                    {"memory_bytes", decode.memory.value},
                    {"fits", question.knows_memory() ? Json(DerivedAnswer::fits(question, way)) : Json(nullptr)},
                    {"prefill",
                     {{"strategy", to_string(prefill.strategy)},
                      {"time_s", prefill.time().value},
                      {"flops_s", prefill.work.products.value},
                      {"parameters_s", prefill.work.parameters.value},
                      {"attention_s", prefill.work.attention.value},
                      {"collectives_s", prefill.collectives.value},
                      {"collectives_per_layer", prefill.layer.collectives},
                      {"rounds_per_layer", prefill.layer.rounds},
                      {"bytes_per_layer", prefill.layer.sent.value}}}});
  }
  return ways;
}

Json derived_axes_json(const DerivedAnswer& answer) {
  if (!answer.axes) return nullptr;
  const auto sent_json = [](const SentByWay& sent) -> Json {
    return {{"mesh", mesh_json(sent.way.mesh.mesh)},
            {"strategy", to_string(sent.way.strategy)},
            {"collectives_per_layer", sent.layer.collectives},
            {"rounds_per_layer", sent.layer.rounds},
            {"bytes_per_layer", sent.layer.sent.value}};
  };
  const std::optional<Index>& least = answer.axes->least_chips;
  return {{"1d", sent_json(answer.axes->one)},
          {"2d", sent_json(answer.axes->two)},
          {"least_chips_of_2d", least ? Json(*least) : Json(nullptr)}};
}

Section derived_section(const GenerateQuestion& question, const DerivedAnswer& answer) {
  Table table{kDerivedColumns, {}, 2};
  for (const DerivedGeneration& way : answer.ways) table.rows.push_back(cells_of(question, way));
  Section section{"Derived programs", {}};
  if (!table.rows.empty()) section.blocks = {table, Paragraph{derived_words(question)}};
  if (answer.axes) section.blocks.emplace_back(Paragraph{compared_axes_text(*answer.axes)});
  if (!answer.left_out.empty()) section.blocks.emplace_back(Paragraph{"No program has " + answer.left_out + "."});
  return section;
}

}  // namespace shardline::tools
