#include "tools/plan/generate_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/architecture/known_models.h"
#include "roofline/price/bounds.h"
#include "runtime/base/check.h"
#include "tools/output/text.h"

namespace shardline::tools {
namespace {

constexpr Index kDoublingsOfSlices = 4;  ///< from the smallest slice on

/// The hardware of ranks on one axis. Of a file it is the first axis with a link.
roofline::Hardware hardware_of_axis(const GenerateQuestion& question) {
  if (!question.has_links()) return question.hardware_of({});
  const std::optional<GivenMachine>& given = question.hardware.given;
  const Axis axis = given ? given->machine.axes.begin()->first : usual_axes().front();
  return question.hardware_of(chip_mesh(AbstractMesh({{axis, std::max<Index>(question.chips, 2)}})));
}

/// The types, as typed or by default.
void put_types(GenerateQuestion& question, const PlanOptions& options) {
  const bool is_chip = question.hardware.chip != nullptr;
  std::vector<std::string> weights = {"bf16", "int8", "int4"};
  std::vector<std::string> caches = {"bf16", "int8"};
  if (!is_chip) {
    weights.insert(weights.begin(), "f32");
    caches.insert(caches.begin(), "f32");
  }
  question.weights = stored_type("--dtype", options.dtype.empty() ? is_chip ? "bf16" : "f32" : options.dtype, weights);
  const bool whole = question.weights.name == "int8" || question.weights.name == "int4";
  const std::string& cache = options.generate.cache_dtype;
  question.caches = stored_type("--cache-dtype",
                                !cache.empty() ? cache
                                : whole        ? "int8"
                                               : question.weights.name,
                                caches);
  question.products = is_chip ? "bf16" : whole ? "f32" : question.weights.name;
}

void put_tokens(GenerateQuestion& question, const GenerateOptions& options) {
  question.prompt_tokens = options.prompt_tokens;
  question.new_tokens = options.new_tokens;
  const Index both = options.prompt_tokens + options.new_tokens;
  question.context = options.context.value_or(both);
  require(question.context >= both, "--context {}: less than the {} tokens of a prompt and the {} new ones",
          question.context, options.prompt_tokens, options.new_tokens);
}

/// The rates of a chip and of its links.
void put_chip(GenerateQuestion& question) {
  FrontierQuery& query = question.frontier;
  if (question.hardware.chip != nullptr) {
    query.chip = generation_chip(*question.hardware.chip);
    query.links = generation_links(*question.hardware.chip);
    return;
  }
  const roofline::Hardware hardware = hardware_of_axis(question);
  query.chip = {hardware.matmul, hardware.memory, {}};
  if (question.hardware.given) query.chip.capacity = question.hardware.given->machine.memory.capacity;
  query.links = {.rings = false, .activation = Bytes(static_cast<double>(size_of(question.products_type())))};
  for (const auto& [axis, link] : hardware.links) {
    query.links.link = link.two_way ? link.both_ways : link.bandwidth;
    query.links.hop = link.latency;
  }
}

/// The chips of a server: as given, or the fewest, by powers of two, that hold the weights and the batch.
void put_slice(GenerateQuestion& question, const PlanOptions& options) {
  const FrontierQuery& query = question.frontier;
  const auto context = static_cast<double>(question.context);
  const auto least = [&](double sequences) {
    return least_slice(query.model, query.chip, {.sequences = sequences, .context = context});
  };
  if (!question.knows_memory()) {
    question.chips = options.chips.value_or(1);
    question.batch = options.generate.batch.value_or(1);
    return;
  }
  const Index asked = options.generate.batch.value_or(1);
  question.chips = options.chips.value_or(least(static_cast<double>(asked)));
  const auto chips = static_cast<double>(question.chips);
  const double most = most_sequences(query.model, query.chip, chips, context);
  require(most >= 1, "--chips {}: {} of memory, {} of weights in {}, {} for one cache of {} tokens; {} chips hold them",
          question.chips, to_string(query.chip.capacity * chips), to_string(query.model.weights), question.weights.name,
          to_string(query.model.cache_per_token * context), question.context, least(1));
  question.batch = options.generate.batch.value_or(static_cast<Index>(most));
}

/// Refuses several ranks that nothing joins.
void require_links(const GenerateQuestion& question, const PlanOptions& options) {
  const Index batch = options.generate.batch.value_or(1);
  require(
      question.chips == 1 || question.has_links(),
      "--machine {}: {} of weights in {} and {} cache{} of {} tokens need {} ranks, and the file has no links between "
      "ranks; take a file with links, or less of --batch, --context or --dtype",
      options.common.machine.file, to_string(question.frontier.model.weights), question.weights.name, batch,
      batch == 1 ? "" : "s", question.context, question.chips);
}

/// The chips of the frontier: powers of two from the smallest slice on, the chips asked for and twice as many.
void put_slices(GenerateQuestion& question) {
  const FrontierQuery& query = question.frontier;
  Index least = roofline::power_of_two_below(question.chips);
  if (question.knows_memory()) least = least_slice(query.model, query.chip, {.sequences = 1, .context = query.context});
  std::set<Index> slices = {question.chips, 2 * question.chips};
  for (Index i = 0; i <= kDoublingsOfSlices; ++i) slices.insert(least << i);
  if (!question.has_links()) slices = {1};
  if (question.hardware.chip != nullptr) {
    const Index most = std::max(question.hardware.chip->most_chips, question.chips);
    slices.erase(slices.upper_bound(most), slices.end());
  }
  question.slices.assign(slices.begin(), slices.end());
}

}  // namespace

StoredType stored_type(const std::string& option, const std::string& name, const std::vector<std::string>& legal) {
  require(std::find(legal.begin(), legal.end(), name) != legal.end(), "{} {}: {} with --generate here", option, name,
          listed(legal, "or"));
  const double bytes = name == "f32" ? 4 : name == "bf16" ? 2 : name == "int8" ? 1 : 0.5;
  return {name, Bytes(bytes)};
}

roofline::Hardware GenerateQuestion::hardware_of(const ChipMesh& mesh) const {
  const DType dtype = products_type();
  if (hardware.chip != nullptr) return roofline::hardware_of(*hardware.chip, mesh.mesh, mesh.layout, dtype);
  if (hardware.given) return roofline::hardware_of(hardware.given->machine, mesh.mesh, dtype);
  return roofline::hardware_named(hardware.name, mesh.mesh, dtype);
}

FrontierQuery GenerateQuestion::stored_in(const StoredType& type) const {
  FrontierQuery query = frontier;
  query.model = generation_model(config, type.element, type.element);
  return query;
}

GenerateQuestion generate_question_of(const PlanOptions& options) {
  GenerateQuestion question;
  question.config = sizes_of_model(options.model, &question.remarks);
  question.hardware = named_hardware(options);
  require(options.chips.value_or(1) == 1 || question.has_links(), "--chips {}: --machine {} has no links between ranks",
          options.chips.value_or(1), options.common.machine.file);
  put_types(question, options);
  put_tokens(question, options.generate);
  if (options.chips) question.chips = *options.chips;
  FrontierQuery& query = question.frontier;
  query.model = generation_model(question.config, question.weights.element, question.caches.element);
  query.layer = decode_layer(question.config);
  query.context = static_cast<double>(question.context);
  put_chip(question);
  put_slice(question, options);
  require_links(question, options);
  put_slices(question);
  const std::string of_pod = question.hardware.remark_on_pod(question.chips);
  if (!of_pod.empty()) question.remarks.push_back(of_pod);
  return question;
}

}  // namespace shardline::tools
