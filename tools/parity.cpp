#include "tools/parity.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/parity/parity.h"
#include "tools/job.h"
#include "tools/output/output.h"

namespace shardline::tools {
namespace {

struct ParityOptions {
  CommonOptions common;
  bool all = false;
  std::optional<std::string> fault;
};

constexpr const char* kParityFooter = R"(Example:
  mpirun -n 4 shardline parity

Trains a tiny Transformer in f64 for three steps under many layouts: meshes that fit the ranks of the job, a role on each
axis, gather policies, fusions and rings, bundles, strips, panels, micro-batches, orders of tokens, shared memory or
messages, a tied embedding, biases, labels that do not count, packed documents. By default every two choices meet in at
least one layout. Loss, gradient norm, moments and weights must equal those of one rank to 1e-10.)";

/// A difference without a number is null.
Json number(double difference) { return std::isfinite(difference) ? Json(difference) : Json(); }

Json layout_json(const ParityLayout& layout, const ParityDifference& difference) {
  return {{"name", to_string(layout)},
          {"mesh", mesh_json(layout.mesh)},
          {"loss_diff", number(difference.loss)},
          {"grad_diff", number(difference.gradient)},
          {"norm_diff", number(difference.norm)},
          {"weight_diff", number(difference.weight)},
          {"same_bits", difference.same_bits},
          {"planted", difference.planted},
          {"pass", difference.passes()}};
}

std::string head() {
  return fmt::format("{:<12} {:>8} {:>8} {:>8} {:>8}        layout\n", "mesh", "loss", "gradient", "norm", "weights");
}

std::string row(const ParityLayout& layout, const ParityDifference& difference, bool breaks) {
  const char* verdict = difference.passes() ? "" : difference.same_bits ? "DIFFERS" : "BITS";
  verdict = !difference.passes() ? verdict : breaks && !difference.planted ? "no place" : "equal";
  return fmt::format("{:<12} {:>8.1e} {:>8.1e} {:>8.1e} {:>8.1e} {:<8} {}\n", layout.mesh.to_string(), difference.loss,
                     difference.gradient, difference.norm, difference.weight, verdict, to_string(layout));
}

/// Counts of layouts.
struct Tally {
  Index layouts = 0;
  Index differ = 0;
  Index planted = 0;
  Index missed = 0;  ///< planted, and yet equal
};

std::string summary(const Tally& tally, const Fault* fault) {
  std::string text = fmt::format("\n{} layouts, {} equal to one rank within {:.0e}, {} not\n", tally.layouts,
                                 tally.layouts - tally.differ, kParityTolerance, tally.differ);
  if (fault != nullptr) {
    text += fmt::format("{}: {}.\nIt was planted in {} layouts and found in {} of them\n", fault->name, fault->meaning,
                        tally.planted, tally.planted - tally.missed);
  }
  return text;
}

/// Collective over all ranks. The first ranks train; the others wait.
ParityDifference run_layout(const Job& job, const ParityLayout& layout, const ParityRun& reference,
                            const Fault* fault) {
  const bool trains = job.world().rank() < layout.mesh.ranks();
  const mpi::Communicator part = job.world().split(trains ? 0 : 1, static_cast<int>(job.world().rank()));
  ParityDifference difference;
  if (trains) difference = compare_with_reference(part, layout, reference, fault);
  job.world().barrier();
  return difference;
}

int parity(const ParityOptions& options) {
  Job job(options.common, files_of(options.common));
  if (options.fault && options.fault->empty()) {
    job.print(fault_list());
    return 0;
  }
  const Fault* fault = options.fault ? &fault_named(*options.fault) : nullptr;
  const Index ranks = job.world().size();
  const std::vector<ParityLayout> paired = options.all ? std::vector<ParityLayout>{} : paired_layouts(ranks);
  job.introduce();
  job.note(fmt::format("{} layouts of 1 to {} ranks", options.all ? "all" : std::to_string(paired.size()), ranks));
  const std::map<ParityTask, ParityRun> references = parity_references();
  Json rows = Json::array();
  Tally tally;
  job.print(head());
  const auto compare = [&](const ParityLayout& layout) {
    const ParityDifference difference = run_layout(job, layout, references.at(layout.task), fault);
    job.print(row(layout, difference, fault != nullptr));
    if (job.root()) rows.push_back(layout_json(layout, difference));
    ++tally.layouts;
    tally.differ += difference.passes() ? 0 : 1;
    tally.planted += difference.planted ? 1 : 0;
    tally.missed += difference.planted && difference.passes() ? 1 : 0;
  };
  if (options.all) {
    for_each_layout(ranks, compare);
  } else {
    for (const ParityLayout& layout : paired) compare(layout);
  }
  job.print(summary(tally, fault));
  Json record = job.header("shardline.parity/1", "parity");
  record["planted"] = fault == nullptr ? Json() : Json(fault->name);
  record["layouts"] = std::move(rows);
  job.write_json(record);
  const bool nowhere = fault != nullptr && tally.planted == 0;  // then nothing was shown
  return mpi::on_root(job.world(), 0, [&] { return std::to_string(tally.differ); }) == "0" && !nowhere ? 0 : 1;
}

}  // namespace

void add_parity(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand("parity", "Train a tiny model under every layout and compare with one rank");
  const auto options = std::make_shared<ParityOptions>();
  add_json_option(*command, options->common);
  command->add_flag("--all", options->all, "Every combination of all choices, instead of every pair: many layouts");
  command->add_option("--break", options->fault, "Plant this fault, which must be found; without a name: list them")
      ->expected(0, 1);
  command->footer(kParityFooter);
  command->callback([options, &run] { run = [options] { return parity(*options); }; });
}

}  // namespace shardline::tools
