#include "tools/explain.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

#include "program/ir/print.h"
#include "program/plan/compiled.h"
#include "program/run/multiply.h"
#include "roofline/machine/catalogue.h"
#include "runtime/base/check.h"
#include "runtime/host/files.h"
#include "tools/output/output.h"
#include "tools/output/quiet_record.h"
#include "tools/product/product_report.h"
#include "tools/show.h"

namespace shardline::tools {
namespace {

struct ExplainOptions {
  CommonOptions common;
  std::string expression;
  std::string sizes;
  std::string hardware = "v5e";
  bool show = false;
};

/// The type of --dtype. Without it bf16 on a chip of the catalogue, else f32.
DType element_type(const ExplainOptions& options) {
  if (!options.common.dtype.empty()) return dtype_of(options.common);
  const bool chip = options.common.machine.file.empty() && roofline::find_chip(options.hardware) != nullptr;
  return chip ? DType::bf16 : DType::f32;
}

/// Prices from a machine file or from a known hardware name.
struct Prices {
  DType dtype;  ///< of the operands
  std::optional<GivenMachine> given;
  roofline::Hardware hardware;
};

/// Element types are those of `matmul`. Chips of the catalogue keep results in the type of the
/// operands.
ProductTypes types_of(const ExplainOptions& options) {
  const DType dtype = element_type(options);
  const bool cpu = !options.common.machine.file.empty() || options.hardware == "cpu";
  return cpu ? cpu_types(dtype) : ProductTypes{dtype, dtype};
}

Prices prices_of(const ExplainOptions& options, const Product& product) {
  const DType dtype = element_type(options);
  const DType arithmetic = is_integer(dtype) ? product.dtype() : dtype;  // as `matmul` multiplies
  const MachineFlags& flags = options.common.machine;
  if (!flags.file.empty()) {
    const GivenMachine given = given_machine(flags, read_description(flags.file), host_name());
    return {dtype, given, roofline::hardware_of(given.machine, product.mesh, arithmetic)};
  }
  return {dtype, std::nullopt, roofline::hardware_named(options.hardware, product.mesh, arithmetic)};
}

/// The differences between `mesh` and the measured mesh of the given machine.
std::vector<std::string> differences_of(const Prices& prices, const AbstractMesh& mesh) {
  return prices.given ? machine_differences(*prices.given, mesh, nullptr) : std::vector<std::string>{};
}

std::string link_text(const Axis& axis, Index ranks, const roofline::Link& link) {
  const std::string shape = link.switched  ? ""
                            : link.two_way ? fmt::format("ring of {}, both ways ", ranks)
                                           : fmt::format("line of {}, ", ranks);
  const std::string shared = link.switched ? fmt::format(" ({})", link.resource) : "";
  return fmt::format("{}: {}{} + {} a step{}", axis, shape, to_string(link.bandwidth), to_string(link.latency), shared);
}

std::string describe(const Prices& prices, const AbstractMesh& mesh) {
  const roofline::Hardware& hardware = prices.hardware;
  std::string text =
      fmt::format("{} {}, {}: matmul {}, memory {}", prices.given ? "machine" : "hardware", hardware.name,
                  name_of(prices.dtype), to_string(hardware.matmul), to_string(hardware.memory));
  for (const Axis& axis : mesh.axes_that_move()) {
    text += "; " + link_text(axis, mesh.size(axis), hardware.link(axis));
  }
  text += "\n";
  if (prices.given) return text;
  for (const std::string& sentence : roofline::reservations(hardware.name, mesh)) text += sentence + "\n";
  return text;
}

Json planned_operation_json(const RankProgram& program, const Step& step, const StepEstimate& estimate) {
  return {{"text", to_string(program, step)},
          {"kind", kind_name(program, step)},
          {"axis", to_string(step.axes)},
          {"bytes", estimate.bytes.value},
          {"wire_bytes", estimate.wire_bytes.value},
          {"flops", estimate.flops.value},
          {"predicted_s", estimate.price.time.value},
          {"measured_s", nullptr},
          {"exposed_s", nullptr},
          {"t_math_s", estimate.price.math.value},
          {"t_memory_s", estimate.price.memory.value},
          {"t_comms_s", estimate.price.comms.value},
          {"limiter", name_of(estimate.price.limiter)}};
}

Json links_json(const roofline::Hardware& hardware) {
  Json links = Json::object();
  for (const auto& [axis, link] : hardware.links) {
    links[axis] = {{"latency_s", link.latency.value},
                   {"bandwidth_one_way", link.bandwidth.value},
                   {"two_way", link.two_way},
                   {"switched", link.switched},
                   {"frees_cores", link.frees_cores}};
  }
  return links;
}

/// The candidates, scheduled and predicted by the same prices.
std::vector<std::shared_ptr<Compiled>> compiled_of(const std::vector<Candidate>& candidates,
                                                   const roofline::Hardware& hardware) {
  std::vector<std::shared_ptr<Compiled>> compiled;
  for (const Candidate& each : candidates) {
    compiled.push_back(
        compile(each.program, {.scheduling = ScheduleOptions(), .prices = hardware, .predictions = hardware}));
  }
  return compiled;
}

Json record_of(const Product& product, const std::vector<Candidate>& candidates,
               const std::vector<std::shared_ptr<Compiled>>& compiled, const Prices& prices) {
  const roofline::Hardware& hardware = prices.hardware;
  Json record = quiet_header("shardline.explain/1", "explain", product.mesh);
  record["machine_file"] = machine_file_json(prices.given, differences_of(prices, product.mesh));
  record["dtype"] = name_of(prices.dtype);
  record["hardware"] = {{"name", hardware.name},
                        {"matmul", hardware.matmul.value},
                        {"memory", hardware.memory.value},
                        {"links", links_json(hardware)}};
  std::vector<Prediction> predicted;
  for (const std::shared_ptr<Compiled>& each : compiled) predicted.push_back(predict(*each));
  add_product_keys(record, product, candidates, predicted, 1);
  const Compiled& winner = *compiled[0];
  const RankProgram& program = winner.program();
  record["operations"] = Json::array();
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    Json operation = planned_operation_json(program, program.steps[i], winner.estimates()[i]);
    operation["fused"] = is_fused(winner.schedule(), i);
    operation["swept"] = is_swept(winner.schedule(), i);
    record["operations"].push_back(std::move(operation));
  }
  return record;
}

int explain(const ExplainOptions& options) {
  check_files(files_of(options.common));
  const AbstractMesh mesh = AbstractMesh::parse(options.common.mesh);
  const Product product =
      make_product(parse_product(options.expression), parse_sizes(options.sizes), mesh, types_of(options));
  const Prices prices = prices_of(options, product);
  const std::vector<Candidate> candidates = product.candidates(prices.hardware);
  const std::vector<std::shared_ptr<Compiled>> compiled = compiled_of(candidates, prices.hardware);
  if (!options.common.json.empty()) {
    write_output(options.common.json, record_text(record_of(product, candidates, compiled, prices)));
  }
  for (const std::string& difference : differences_of(prices, mesh)) note(difference);
  print(describe(prices, mesh) + "\n" + derivation_text(product, candidates, 1, compiled[0]->schedule(), prices.dtype) +
        (options.show ? pictures(candidates[0].program) + "\n" : "") + candidates_text(candidates));
  return 0;
}

constexpr const char* kExplainExample = R"(
Example: on a torus of 16 v5e chips, gathering the weight moves D*F elements where reducing the output moves 2*B*F, so
the smaller batch reduces.

  shardline explain "In[B, D] * W[D_X, F] -> Out[B, F]" --mesh X=16 --size B=1024,D=8192,F=8192

prints the case of each axis, the cheapest program, and every other way to compute the product with its price: T_math
and T_comms overlap where moving leaves the cores free, so a price is the longer of the two; on cpu it is their sum.
--show draws which rank holds which block of every array of that program (see matmul --help).
One array alone is priced as "A[I_X, J] -> A[I, J]", or as AllGather_X(A[I_X, J]), which is how programs print it.
No MPI is started and nothing is run: any mesh can be priced, with --machine any whose axes have links in the file. f32
and f64 are priced at a chip's bf16 rate, int8 at its own.)";

}  // namespace

void add_explain(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand(
      "explain",
      "Derive the programs of a product of sharded arrays, or of one that moves, price them and say which wins");
  const auto options = std::make_shared<ExplainOptions>();
  command
      ->add_option("EXPR", options->expression,
                   "The product with its shardings, as in \"A[I, J_X] * B[J_X, K] -> C[I, K]\", or one array and how "
                   "it is wanted, as in \"A[I_X, J] -> A[I, J]\"")
      ->required();
  command->add_option("--mesh", options->common.mesh, "Mesh axes and their sizes, major first, as in X=16,Y=4")
      ->required()
      ->check(not_empty());
  command->add_option("--size", options->sizes, "Size of every dim, as in I=1024,J=1024,K=1024")->required();
  add_show_option(*command, options->show);
  add_machine_options(*command, options->common.machine)
      ->excludes(add_hardware_option(*command, options->hardware, "Price it for"));
  options->common.dtype.clear();
  options->common.dtypes = {DType::f32, DType::bf16, DType::f64, DType::int8};
  add_dtype_option(*command, options->common)->default_str("bf16 on a chip, f32 otherwise");
  add_json_option(*command, options->common);
  command->footer(kExplainExample);
  command->callback([options, &run] { run = [options] { return explain(*options); }; });
}

}  // namespace shardline::tools
