#include "tools/plan/plan_question.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/architecture/known_models.h"
#include "program/timetable/named.h"
#include "roofline/machine/torus.h"
#include "runtime/base/check.h"
#include "runtime/base/lists.h"
#include "runtime/base/number.h"
#include "runtime/host/files.h"
#include "tools/bench/bench_sizes.h"

namespace shardline::tools {
namespace {

constexpr Index kMostTokens = Index{1} << 36;
constexpr double kUsualCapacity = 1.25;
constexpr Index kMostStages = 32;  ///< that a search tries
constexpr Index kMostSequence = Index{1} << 20;

Index at_least(Index least, const std::string& option, const std::string& text) {
  const std::optional<Index> number = whole_number<Index>(text);
  require(number && *number >= least, "{}: \"{}\" is not a whole number of at least {}", option, text, least);
  return *number;
}

/// "X=2048:2,Y=4:1": a mesh, and the number of torus axes of each mesh axis.
std::pair<AbstractMesh, std::map<Axis, int>> parse_laid_mesh(const std::string& text) {
  std::vector<std::string> plain;
  std::map<Axis, int> counts;
  for (const NamedValue& axis : named_values(text)) {
    const auto [size, count] = cut_once(axis.item, ':');
    plain.push_back(size);
    if (count) counts[axis.name] = static_cast<int>(at_least(0, "--mesh " + text, *count));
  }
  return {AbstractMesh::parse(fmt::format("{}", fmt::join(plain, ","))), counts};
}

std::vector<Index> parse_torus(const std::string& text) {
  std::vector<Index> torus;
  for (const std::string& part : split(text, 'x')) torus.push_back(at_least(1, "--torus " + text, part));
  return torus;
}

void check_machine(const PlanOptions& options) {
  require(options.chips.value_or(0) % options.pods == 0, "--chips {}: not a multiple of --pods {}",
          options.chips.value_or(0), options.pods);
  require(options.strategy.empty() || !options.common.mesh.empty(), "--strategy {}: needs --mesh, whose axes it names",
          options.strategy);
  if (!options.timetable.empty()) timetable_row(options.timetable);  // refuses unknown names
  if (!options.remat.empty()) remat_named(options.remat);
  require(options.chips || !options.common.mesh.empty() || !options.torus.empty(),
          "no machine to plan for: give --chips N, --torus AxBxC or --mesh X=N,Y=M");
}

/// Sets the batch and the length of a sequence.
void put_batch(PlanQuestion& question, const PlanOptions& options) {
  const Index tokens = parse_size("--batch-tokens", options.batch_tokens, "tokens");
  require(tokens <= kMostTokens, "--batch-tokens {}: at most {}", options.batch_tokens, kMostTokens);
  require(tokens % options.pods == 0, "--batch-tokens {}: not a multiple of --pods {}", tokens, options.pods);
  require(options.sequence <= std::min(tokens, kMostSequence), "--seq {}: from 1 to {}, as the batch has {} tokens",
          options.sequence, std::min(tokens, kMostSequence), tokens);
  require(tokens % options.sequence == 0, "--seq {}: does not divide the {} tokens of a batch", options.sequence,
          tokens);
  question.run.tokens = tokens;
  question.run.sequence = options.sequence;
}

/// The torus of --torus, or an empty one.
std::vector<Index> torus_of(const PlanQuestion& question, const PlanOptions& options) {
  if (options.torus.empty()) return {};
  const std::vector<Index> torus = parse_torus(options.torus);
  const int most = question.chip == nullptr ? 0 : question.chip->torus_axes;
  require(static_cast<int>(torus.size()) <= most, "--torus {}: {} has {} torus axes", options.torus,
          question.hardware_name, most);
  Index chips = 1;
  for (const Index side : torus) {
    require(side <= kMostChips / chips, "--torus {}: at most {} chips", options.torus, kMostChips);
    require(roofline::torus_sides(*question.chip, side, 1).has_value(), "--torus {}: axes of {} have at most {} chips",
            options.torus, question.hardware_name, question.chip->wraps_at);
    chips *= side;
  }
  require(options.chips.value_or(chips * options.pods) == chips * options.pods, "--chips {}: {} torus{} {} ha{} {}",
          *options.chips, options.pods, options.pods == 1 ? "" : "es", options.torus, options.pods == 1 ? "s" : "ve",
          chips * options.pods);
  return torus;
}

/// The mesh of --mesh.
ChipMesh mesh_given(const PlanQuestion& question, const PlanOptions& options, const std::vector<Index>& torus) {
  const std::string& text = options.common.mesh;
  const auto [mesh, counts] = parse_laid_mesh(text);
  require(!mesh.has(kPodAxis) || options.pods == 1, "--mesh {}: axis {} is that of --pods", text, kPodAxis);
  Index chips = 1;
  for (const Axis& axis : mesh.axes()) {
    require(mesh.size(axis) <= kMostChips / chips, "--mesh {}: at most {} chips", text, kMostChips);
    chips *= mesh.size(axis);
  }
  require(options.chips.value_or(chips * options.pods) == chips * options.pods, "--mesh {}: {} chips, --chips {}", text,
          chips * options.pods, options.chips.value_or(0));
  const bool on_torus = question.chip != nullptr && question.chip->torus_axes > 0;
  require(counts.empty() || (on_torus && torus.empty()), "--mesh {}: {}", text,
          on_torus ? "--torus says how it lies" : question.hardware_name + " has no torus axes");
  if (!torus.empty()) return laid_over_torus(torus, mesh);
  return question.chip != nullptr ? laid_over(*question.chip, mesh, counts) : chip_mesh(mesh);
}

/// The chips and meshes of a pod, from --chips, --mesh and --torus together.
void put_meshes(PlanQuestion& question, const PlanOptions& options) {
  const std::vector<Index> torus = torus_of(question, options);
  if (!options.common.mesh.empty()) {
    question.meshes = {mesh_given(question, options, torus)};
    question.chips = question.meshes[0].mesh.ranks();
    question.fixed = true;
  } else if (!torus.empty()) {
    question.meshes = meshes_of_torus(torus);
    question.chips = question.meshes[0].mesh.ranks();
    question.fixed = true;
  } else {
    question.chips = *options.chips / options.pods;
    const roofline::Chip none{};
    question.meshes =
        meshes_of(question.chip == nullptr ? none : *question.chip, roofline::power_of_two_below(question.chips));
    require(!question.meshes.empty(),
            "--chips {}: no torus of {} has {} in a pod, it has at most {}; --pods joins pods", *options.chips,
            question.hardware_name, question.chips, question.chip == nullptr ? 0 : question.chip->most_chips);
  }
}

/// For a machine file: searches only axes with a link in the file.
void keep_known_axes(PlanQuestion& question) {
  if (!question.given || question.fixed) return;
  const std::map<Axis, std::string>& known = question.given->machine.axes;
  for (std::vector<ChipMesh>* meshes : question.searched()) {
    std::erase_if(*meshes, [&](const ChipMesh& each) {
      const Axes axes = each.mesh.axes_that_move();
      return !std::all_of(axes.begin(), axes.end(), [&](const Axis& axis) { return known.count(axis) > 0; });
    });
  }
  require(!question.meshes.empty(), "--machine {}: has no link for axis {} of {} ranks; --mesh names the axes it has",
          question.given->file, fmt::join(usual_axes(), " or "), question.chips);
}

/// Meshes with stages: so many of them as --stages says, or up to one for each layer.
void put_staged(PlanQuestion& question, const PlanOptions& options) {
  if (question.fixed) return;
  const roofline::Chip none{};
  const Index most = options.stages.value_or(std::min<Index>(question.run.config.layers, kMostStages));
  question.staged = staged_meshes_of(question.chip == nullptr ? none : *question.chip,
                                     roofline::power_of_two_below(question.chips), most);
  const Axis axis = usual_axis(stage_role());
  std::erase_if(question.staged,
                [&](const ChipMesh& each) { return options.stages && each.mesh.size(axis) != *options.stages; });
}

/// Refuses a --strategy that splits experts of a model without any.
void refuse_roles_of_experts(const PlanQuestion& question, const PlanOptions& options) {
  if (question.run.config.experts.count > 0 || options.strategy.empty()) return;
  const AbstractMesh& mesh = question.meshes[0].mesh;
  require(ranks_with(splits_experts, mesh, parse_strategy(options.strategy, mesh)) == 1,
          "--strategy {}: the model has no experts to split", options.strategy);
}

/// Meshes with an axis for experts, and the roles that split experts.
void put_experts(PlanQuestion& question, const PlanOptions& options) {
  const Index experts = question.run.config.experts.count;
  require(experts > 0 || !options.capacity, "--capacity {}: the model has no experts", options.capacity.value_or(0));
  question.run.capacity = options.capacity.value_or(kUsualCapacity);
  if (experts < 2) return;
  for (ChipMesh& each : question.meshes) add_expert_roles(each);
  for (ChipMesh& each : question.staged) add_expert_roles(each);
  if (question.fixed) return;
  const roofline::Chip none{};
  question.for_experts = expert_meshes_of(question.chip == nullptr ? none : *question.chip,
                                          roofline::power_of_two_below(question.chips), experts);
}

void add_pods(PlanQuestion& question, Index pods) {
  if (pods == 1) return;
  require(question.chip != nullptr && question.chip->between_pods.value > 0,
          "--pods {}: what joins pods of {} is not known; of v3, v4p, v5p, v5e and v6e it is", pods,
          question.hardware_name);
  for (std::vector<ChipMesh>* meshes : question.searched()) {
    for (ChipMesh& each : *meshes) each = joined_pods(each, pods);
  }
}

/// Stages and micro-batches of the closed form's pipeline: as given, else what model, chips and batch have room
/// for.
void put_pipeline(ClosedFormQuery& closed, const PlanQuestion& question, const PlanOptions& options) {
  const Index layers = question.run.config.layers;
  const Index most = roofline::power_of_two_below(std::min(layers, closed.mesh_chips()));
  closed.stages = options.stages.value_or(std::min<Index>(8, most));
  require(closed.stages <= most && closed.stages == roofline::power_of_two_below(closed.stages),
          "--stages {}: a power of two from 1 to {}, of {} layers on {} chips", closed.stages, most, layers,
          closed.mesh_chips());
  const Index sequences = question.run.sequences();
  closed.micro_batches = options.micro_batches.value_or(std::min<Index>(32, sequences));
  require(!options.micro_batches || sequences % closed.micro_batches == 0,
          "--micro-batches {}: a divisor of the {} sequences of a batch", closed.micro_batches, sequences);
}

/// The number of torus axes for FSDP and for tensor parallelism: from the given mesh or torus; else
/// all but one for FSDP.
void put_torus_axes(ClosedFormQuery& closed, const PlanQuestion& question) {
  if (question.chip == nullptr || question.chip->torus_axes == 0) {
    closed.torus_axes = closed.x_torus_axes = closed.y_torus_axes = 1;
    return;
  }
  std::size_t axes = static_cast<std::size_t>(question.chip->torus_axes);
  if (question.fixed) {
    axes = 0;
    for (const auto& [axis, sides] : question.meshes[0].layout) axes += sides.size();
  }
  closed.torus_axes = static_cast<double>(std::max<std::size_t>(axes, 1));
  closed.x_torus_axes = std::max(closed.torus_axes - 1, 1.0);
  closed.y_torus_axes = 1;
  const roofline::TorusLayout& layout = question.meshes[0].layout;
  if (question.meshes.size() > 1 || layout.size() != 2) return;
  closed.x_torus_axes = static_cast<double>(layout.begin()->second.size());
  closed.y_torus_axes = static_cast<double>(layout.rbegin()->second.size());
}

/// Sets the chip of the closed forms.
void put_closed_form(PlanQuestion& question, const PlanOptions& options) {
  ClosedFormQuery& closed = question.closed;
  closed.config = question.run.config;
  closed.tokens = static_cast<double>(question.run.tokens);
  closed.sequence = question.run.sequence;
  closed.chips = question.chips;
  closed.element = Bytes(static_cast<double>(size_of(question.run.dtype)));
  closed.moments = Bytes(static_cast<double>(2 * size_of(question.run.optimizer)));
  put_pipeline(closed, question, options);
  put_torus_axes(closed, question);
  if (question.chip != nullptr) {
    const roofline::Chip& chip = *question.chip;
    closed.capacity = chip.capacity;
    closed.rings = chip.torus_axes > 0;
    closed.rates = {chip.matmul, closed.rings ? chip.link * 2 : chip.link};
    closed.memory = chip.memory;
    closed.between_pods = chip.between_pods;
    closed.chips_per_host = chip.chips_per_host;
  } else {
    if (question.given) closed.capacity = question.given->machine.memory.capacity;
    const roofline::Hardware hardware = question.hardware_of(question.meshes.back());
    closed.rings = false;
    closed.rates.compute = hardware.matmul;
    closed.memory = hardware.memory;
    for (const auto& [axis, link] : hardware.links) {  // the slowest link counts
      const BytesPerSecond rate = link.two_way ? link.both_ways : link.bandwidth;
      const bool first = closed.rates.link.value == 0;
      closed.rates.link = first ? rate : std::min(rate, closed.rates.link);
    }
  }
  question.link = closed.rates.link;
  closed.rates.link = closed.rates.link * (2 / closed.element.value);
}

/// Remarks on unexpected prices, one sentence each.
void add_remarks(PlanQuestion& question) {
  if (question.chip == nullptr) return;
  const std::string of_pod = NamedHardware{question.hardware_name, question.chip, {}}.remark_on_pod(question.chips);
  if (!of_pod.empty()) question.remarks.push_back(of_pod);
  if (question.run.dtype != DType::bf16) {
    question.remarks.push_back(fmt::format("products in {} are priced at the rate of bf16, the only one known of {}",
                                           name_of(question.run.dtype), question.hardware_name));
  }
}

DType dtype_for(const PlanOptions& options, bool is_chip) {
  CommonOptions common = options.common;
  common.dtype = !options.dtype.empty() ? options.dtype : is_chip ? "bf16" : "f32";
  return dtype_of(common);
}

}  // namespace

std::string NamedHardware::remark_on_pod(Index chips) const {
  if (chip == nullptr || chips <= chip->most_chips) return "";
  return fmt::format("{} joins at most {} chips in a pod; {} are priced as though it joined them", name,
                     chip->most_chips, chips);
}

NamedHardware named_hardware(const PlanOptions& options) {
  const MachineFlags& flags = options.common.machine;
  NamedHardware hardware;
  if (!flags.file.empty()) {
    hardware.given = given_machine(flags, read_description(flags.file), host_name());
    hardware.name = hardware.given->machine.name;
  } else {
    hardware.name = options.hardware;
    hardware.chip = roofline::find_chip(options.hardware);
    roofline::hardware_named(options.hardware, AbstractMesh(), DType::f32);  // refuses unknown names
  }
  return hardware;
}

PlanSpace PlanQuestion::space(const PlanOptions& options) const {
  PlanSpace space{.meshes = meshes,
                  .as_given = !options.common.mesh.empty(),
                  .strategy = options.strategy,
                  .micro_batches = options.micro_batches};
  space.meshes.insert(space.meshes.end(), staged.begin(), staged.end());
  space.meshes.insert(space.meshes.end(), for_experts.begin(), for_experts.end());
  if (!options.remat.empty()) space.remat = remat_named(options.remat);
  space.timetable = options.timetable;
  space.closed = closed;
  space.hardware_of = [this](const ChipMesh& mesh) { return hardware_of(mesh); };
  return space;
}

roofline::Hardware PlanQuestion::hardware_of(const ChipMesh& each) const {
  if (given) return roofline::hardware_of(given->machine, each.mesh, run.dtype);
  if (chip == nullptr) return roofline::hardware_named(hardware_name, each.mesh, run.dtype);
  roofline::Hardware hardware = roofline::hardware_of(*chip, each.mesh, each.layout, run.dtype);
  if (each.mesh.has(kPodAxis) && closed.pods > 1) {
    hardware.links[kPodAxis] = {.latency = Seconds(1e-6),  // not published
                                .bandwidth = chip->between_pods / static_cast<double>(chip->chips_per_host),
                                .switched = true,
                                .resource = "between pods"};
  }
  return hardware;
}

PlanQuestion question_of(const PlanOptions& options) {
  check_machine(options);
  PlanQuestion question;
  question.run.config = sizes_of_model(options.model, &question.remarks);
  const NamedHardware hardware = named_hardware(options);
  question.hardware_name = hardware.name;
  question.chip = hardware.chip;
  question.given = hardware.given;
  question.run.dtype = dtype_for(options, question.chip != nullptr);
  if (question.run.dtype == DType::f64) question.run.optimizer = DType::f64;
  put_batch(question, options);
  put_meshes(question, options);
  put_staged(question, options);
  put_experts(question, options);
  keep_known_axes(question);
  question.closed.pods = options.pods;
  add_pods(question, options.pods);
  refuse_roles_of_experts(question, options);
  put_closed_form(question, options);
  add_remarks(question);
  return question;
}

}  // namespace shardline::tools
