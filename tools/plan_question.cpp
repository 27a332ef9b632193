#include "tools/plan_question.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "models/files.h"
#include "models/known_models.h"
#include "roofline/torus.h"
#include "runtime/base/check.h"
#include "tools/bench_sizes.h"
#include "tools/text.h"

namespace shardline::tools {
namespace {

constexpr const char* kPods = "Z";

Index positive(const std::string& option, const std::string& text) {
  Index number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(status == std::errc() && end == text.data() + text.size() && number >= 1,
          "{}: \"{}\" is not a whole number of at least 1", option, text);
  return number;
}

/// "X=2048:2,Y=4:1": a mesh, and how many torus axes its axes are given.
std::pair<AbstractMesh, std::map<Axis, int>> parse_laid_mesh(const std::string& text) {
  std::string plain;
  std::map<Axis, int> counts;
  for (const std::string& part : split(text, ',')) {
    const std::size_t colon = part.find(':');
    plain += (plain.empty() ? "" : ",") + part.substr(0, colon);
    if (colon == std::string::npos) continue;
    const Axis axis = part.substr(0, part.find('='));
    counts[axis] = static_cast<int>(positive("--mesh " + text, part.substr(colon + 1)));
  }
  return {AbstractMesh::parse(plain), counts};
}

std::vector<Index> parse_torus(const std::string& text) {
  std::vector<Index> torus;
  for (const std::string& part : split(text, 'x')) torus.push_back(positive("--torus " + text, part));
  return torus;
}

void check_numbers(const PlanOptions& options) {
  require(options.sequence >= 1, "--seq {}: at least 1 token", options.sequence);
  require(options.chips.value_or(1) >= 1, "--chips {}: at least 1", options.chips.value_or(1));
  require(options.tokens > 0 && std::isfinite(options.tokens), "--tokens {}: a positive number", options.tokens);
  require(options.utilisation > 0 && options.utilisation <= 1, "--utilisation {}: more than 0, at most 1",
          options.utilisation);
  require(options.price_per_hour >= 0 && std::isfinite(options.price_per_hour),
          "--price-per-hour {}: not a price of a chip", options.price_per_hour);
  require(options.pods >= 1, "--pods {}: at least 1", options.pods);
  require(options.stages >= 1, "--stages {}: at least 1", options.stages);
  require(options.microbatches >= 1, "--microbatches {}: at least 1", options.microbatches);
  require(options.strategy.empty() || !options.common.mesh.empty(), "--strategy {}: needs --mesh, whose axes it names",
          options.strategy);
}

/// Chips and meshes of a pod, as --chips, --mesh and --torus say together.
void put_meshes(PlanQuestion& question, const PlanOptions& options) {
  const std::string& mesh = options.common.mesh;
  const std::vector<Index> torus = options.torus.empty() ? std::vector<Index>{} : parse_torus(options.torus);
  require(options.chips || !mesh.empty() || !torus.empty(),
          "no machine to plan for: give --chips N, --torus AxBxC or --mesh X=N,Y=M");
  Index torus_chips = 1;
  for (const Index side : torus) torus_chips *= side;
  if (!torus.empty()) {
    const int most = question.chip == nullptr ? 0 : question.chip->torus_axes;
    require(static_cast<int>(torus.size()) <= most, "--torus {}: {} has {} torus axes", options.torus,
            question.hardware_name, most);
    for (const Index side : torus) {
      require(roofline::torus_sides(*question.chip, side, 1).has_value(),
              "--torus {}: axes of {} have at most {} chips", options.torus, question.hardware_name,
              question.chip->wraps_at);
    }
  }
  const Index all = options.chips.value_or(0);
  require(all % options.pods == 0, "--chips {}: not a multiple of --pods {}", all, options.pods);
  if (!torus.empty()) {
    require(all == 0 || all == torus_chips * options.pods, "--chips {}: {} torus{} {} ha{} {}", all, options.pods,
            options.pods == 1 ? "" : "es", options.torus, options.pods == 1 ? "s" : "ve", torus_chips * options.pods);
    question.chips = torus_chips;
  }
  if (!mesh.empty()) {
    const auto [abstract, counts] = parse_laid_mesh(mesh);
    require(!abstract.has(kPods) || options.pods == 1, "--mesh {}: with --pods, axis {} is that of the pods", mesh,
            kPods);
    require(all == 0 || all == abstract.ranks() * options.pods, "--mesh {}: {} chips, --chips {}", mesh,
            abstract.ranks() * options.pods, all);
    question.fixed = true;
    question.chips = abstract.ranks();
    question.meshes = {!torus.empty()             ? laid_over_torus(torus, abstract)
                       : question.chip != nullptr ? laid_over(*question.chip, abstract, counts)
                                                  : ChipMesh{abstract, {}}};
    return;
  }
  if (!torus.empty()) {
    question.meshes = meshes_of_torus(torus);
    return;
  }
  question.chips = all / options.pods;
  const roofline::Chip none{};
  question.meshes =
      meshes_of(question.chip == nullptr ? none : *question.chip, roofline::power_of_two_below(question.chips));
}

/// Of a machine in a file only the axes that it has links for are searched.
void keep_known_axes(PlanQuestion& question) {
  if (!question.given || question.fixed) return;
  const std::map<Axis, std::string>& known = question.given->machine.axes;
  std::vector<ChipMesh> kept;
  for (const ChipMesh& each : question.meshes) {
    const Axes axes = each.mesh.axes_that_move();
    if (std::all_of(axes.begin(), axes.end(), [&](const Axis& axis) { return known.count(axis) > 0; })) {
      kept.push_back(each);
    }
  }
  require(!kept.empty(), "--machine {}: has no link for axis X or Y of {} ranks; --mesh names the axes it has",
          question.given->file, question.chips);
  question.meshes = kept;
}

void add_pods(PlanQuestion& question, Index pods) {
  if (pods == 1) return;
  require(question.chip != nullptr && question.chip->between_pods.value > 0,
          "--pods {}: what joins pods of {} is not known", pods, question.hardware_name);
  for (ChipMesh& each : question.meshes) {
    std::vector<std::pair<Axis, Index>> axes{{kPods, pods}};
    for (const Axis& axis : each.mesh.axes()) axes.emplace_back(axis, each.mesh.size(axis));
    each.mesh = AbstractMesh(axes);
  }
}

/// What the closed forms take a chip to be.
void put_closed_form(PlanQuestion& question, const PlanOptions& options) {
  ClosedFormQuery& closed = question.closed;
  closed.config = question.run.config;
  closed.tokens = static_cast<double>(question.run.tokens);
  closed.chips = question.chips;
  closed.element = Bytes(static_cast<double>(size_of(question.run.dtype)));
  closed.pods = options.pods;
  closed.stages = std::min({options.stages, question.run.config.layers, closed.mesh_chips()});
  closed.stages = roofline::power_of_two_below(closed.stages);
  closed.microbatches = options.microbatches;
  closed.torus_axes = closed.x_torus_axes = closed.y_torus_axes = 1;
  if (question.chip != nullptr) {
    const roofline::Chip& chip = *question.chip;
    closed.capacity = chip.capacity;
    closed.rates = {chip.matmul, chip.torus_axes > 0 ? chip.link * 2 : chip.link};
    closed.torus_axes = std::max(chip.torus_axes, 1);
    closed.x_torus_axes = std::max(chip.torus_axes - 1, 1);
    closed.between_pods = chip.between_pods;
    closed.chips_per_host = chip.chips_per_host;
    return;
  }
  if (question.given) closed.capacity = question.given->machine.memory.capacity;
  const roofline::Hardware hardware = question.hardware_of(question.meshes.back());
  closed.rates.compute = hardware.matmul;
  for (const auto& [axis, link] : hardware.links) {
    closed.rates.link = link.two_way ? link.both_ways : link.bandwidth;
  }
}

DType dtype_for(const PlanOptions& options, bool is_chip) {
  CommonOptions common = options.common;
  common.dtype = !options.dtype.empty() ? options.dtype : is_chip ? "bf16" : "f32";
  return dtype_of(common);
}

}  // namespace

roofline::Hardware PlanQuestion::hardware_of(const ChipMesh& each) const {
  if (given) return roofline::hardware_of(given->machine, each.mesh, run.dtype);
  if (chip == nullptr) return roofline::hardware_named(hardware_name, each.mesh, run.dtype);
  roofline::Hardware hardware = roofline::hardware_of(*chip, each.mesh, each.layout, run.dtype);
  if (each.mesh.has(kPods) && closed.pods > 1) {
    hardware.links[kPods] = {.latency = Seconds(1e-6),  // nobody says
                             .bandwidth = chip->between_pods / static_cast<double>(chip->chips_per_host),
                             .switched = true,
                             .resource = "between pods"};
  }
  return hardware;
}

PlanQuestion question_of(const PlanOptions& options) {
  check_numbers(options);
  PlanQuestion question;
  question.run.config = sizes_of_model(options.model);
  question.run.sequence = options.sequence;
  const MachineFlags& flags = options.common.machine;
  if (!flags.file.empty()) {
    question.given = given_machine(flags, read_file(flags.file), host_name());
    question.hardware_name = question.given->machine.name;
  } else {
    question.hardware_name = options.hardware;
    question.chip = roofline::find_chip(options.hardware);
    roofline::hardware_named(options.hardware, AbstractMesh(), DType::f32);  // refuses what it does not know
  }
  question.run.dtype = dtype_for(options, question.chip != nullptr);
  if (question.run.dtype == DType::f64) question.run.optimizer = DType::f64;
  question.run.tokens = parse_size("--batch-tokens", options.batch_tokens, "tokens");
  require(question.run.tokens % options.pods == 0, "--batch-tokens {}: not a multiple of --pods {}",
          question.run.tokens, options.pods);
  put_meshes(question, options);
  keep_known_axes(question);
  question.closed.pods = options.pods;
  add_pods(question, options.pods);
  put_closed_form(question, options);
  if (question.chip != nullptr && question.chips > question.chip->most_chips) {
    question.remarks.push_back(fmt::format("{} joins at most {} chips in a pod; {} are priced as though it joined them",
                                           question.hardware_name, question.chip->most_chips, question.chips));
  }
  return question;
}

}  // namespace shardline::tools
