#include "tools/parity.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/parity/generation_parity.h"
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
least one layout. Loss, gradient norm, moments and weights must equal those of one rank to 1e-10.

Then it continues texts of different lengths with caches, the likeliest token each time, in f64 and f32: each role of
generation on each axis, prefill as decode or by other roles, whole or in chunks. In f64 tokens must be the same and logits
equal to 1e-10. In f32 the first other token is reported, with the distance of the two logits.

With --all generation has these layouts and then every strategy of decode beside every one of prefill. Only the first have
chunks, messages, a tied embedding or biases: not every combination of these runs.)";

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

Json first_json(const std::optional<TokenDifference>& first) {
  if (!first) return nullptr;
  return {{"text", first->text}, {"token", first->token},     {"wanted", first->wanted},
          {"made", first->made}, {"gap", number(first->gap)}, {"within_rounding", first->within_rounding()}};
}

/// What only training compares is null, and what was not compared in f32.
Json generation_json(const GenerationLayout& layout, const GenerationDifference& difference) {
  const std::optional<TextDifference>& f32 = difference.f32;
  return {{"name", to_string(layout)},
          {"mesh", mesh_json(layout.mesh)},
          {"loss_diff", nullptr},
          {"grad_diff", nullptr},
          {"norm_diff", nullptr},
          {"weight_diff", nullptr},
          {"logits_diff", number(difference.f64.logits)},
          {"logits_diff_f32", f32 ? number(f32->logits) : Json()},
          {"first_difference", first_json(difference.f64.first)},
          {"first_difference_f32", f32 ? first_json(f32->first) : Json()},
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

std::string generation_head() {
  return fmt::format("\n{:<12} {:>10} {:>10}          layout\n", "mesh", "logits f64", "f32");
}

/// Where a text becomes another one.
std::string first_text(const char* type, const std::optional<TokenDifference>& first) {
  if (!first) return "";
  return fmt::format("{:<35}in {}, token {} of text {} is {}, not {}: their logits are {:.1e} of the largest apart{}\n",
                     "", type, first->token + 1, first->text + 1, first->made, first->wanted, first->gap,
                     first->within_rounding() ? ", within rounding" : "");
}

std::string generation_row(const GenerationLayout& layout, const GenerationDifference& difference, bool breaks) {
  const char* verdict = !difference.passes() ? "DIFFERS" : breaks && !difference.planted ? "no place" : "equal";
  const std::string f32 = difference.f32 ? fmt::format("{:.1e}", difference.f32->logits) : "-";
  std::string text = fmt::format("{:<12} {:>10.1e} {:>10} {:<8} {}\n", layout.mesh.to_string(), difference.f64.logits,
                                 f32, verdict, to_string(layout));
  if (!breaks) text += first_text("f64", difference.f64.first);
  if (difference.f32) text += first_text("f32", difference.f32->first);
  return text;
}

/// Counts of layouts.
struct Tally {
  Index layouts = 0;
  Index differ = 0;
  Index planted = 0;
  Index missed = 0;  ///< planted, and yet equal

  void count(bool passes, bool has_fault) {
    ++layouts;
    differ += passes ? 0 : 1;
    planted += has_fault ? 1 : 0;
    missed += has_fault && passes ? 1 : 0;
  }
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

/// Collective over all ranks: what `compare` returns on the first ranks; the others wait.
template <class Compare>
auto on_first_ranks(const Job& job, Index ranks, Compare compare) {
  const bool takes_part = job.world().rank() < ranks;
  const mpi::Communicator part = job.world().split(takes_part ? 0 : 1, static_cast<int>(job.world().rank()));
  decltype(compare(part)) difference;
  if (takes_part) difference = compare(part);
  job.world().barrier();
  return difference;
}

/// The rows of the record so far, and their counts.
struct Compared {
  Json rows = Json::array();
  Tally tally;
};

/// Collective over all ranks: trains under the layouts.
void run_training(const Job& job, bool all, const Fault* fault, Compared& compared) {
  const std::map<ParityTask, ParityRun> references = parity_references();
  job.print(head());
  const auto compare = [&](const ParityLayout& layout) {
    const ParityDifference difference = on_first_ranks(job, layout.mesh.ranks(), [&](const mpi::Communicator& part) {
      return compare_with_reference(part, layout, references.at(layout.task), fault);
    });
    job.print(row(layout, difference, fault != nullptr));
    if (job.root()) compared.rows.push_back(layout_json(layout, difference));
    compared.tally.count(difference.passes(), difference.planted);
  };
  if (all) return for_each_layout(job.world().size(), compare);
  for (const ParityLayout& layout : paired_layouts(job.world().size())) compare(layout);
}

/// Collective over all ranks: generates under the layouts.
void run_generation(const Job& job, bool all, const Fault* fault, Compared& compared) {
  const std::map<ParityTask, GenerationReference> references = generation_references();
  job.print(generation_head());
  const auto compare = [&](const GenerationLayout& layout) {
    const GenerationDifference difference =
        on_first_ranks(job, layout.mesh.ranks(), [&](const mpi::Communicator& part) {
          return compare_generation(part, layout, references.at(layout.task), fault);
        });
    job.print(generation_row(layout, difference, fault != nullptr));
    if (job.root()) compared.rows.push_back(generation_json(layout, difference));
    compared.tally.count(difference.passes(), difference.planted);
  };
  if (all) return for_each_generation_layout(job.world().size(), compare);
  for (const GenerationLayout& layout : generation_layouts(job.world().size())) compare(layout);
}

std::string layouts_note(Index ranks, bool all, bool trains, bool generates) {
  std::string text = all ? "all layouts" : "";
  if (!all && trains) text += fmt::format("{} layouts of training", paired_layouts(ranks).size());
  if (!all && generates) {
    text += fmt::format("{}{} layouts of generation", text.empty() ? "" : ", ", generation_layouts(ranks).size());
  }
  return text + fmt::format(", on 1 to {} ranks", ranks);
}

int parity(const ParityOptions& options) {
  Job job(options.common, files_of(options.common));
  if (options.fault && options.fault->empty()) {
    job.print(fault_list());
    return 0;
  }
  const Fault* fault = options.fault ? &fault_named(*options.fault) : nullptr;
  // A fault has a place in training or in generation, not in both.
  const bool generates = fault == nullptr || fault->in_generation != nullptr;
  const bool trains = fault == nullptr || fault->in_generation == nullptr;
  job.introduce();
  job.note(layouts_note(job.world().size(), options.all, trains, generates));
  Compared compared;
  if (trains) run_training(job, options.all, fault, compared);
  if (generates) run_generation(job, options.all, fault, compared);
  const Tally& tally = compared.tally;
  job.print(summary(tally, fault));
  Json record = job.header("shardline.parity/1", "parity");
  record["planted"] = fault == nullptr ? Json() : Json(fault->name);
  record["layouts"] = std::move(compared.rows);
  job.write_json(record);
  const bool nowhere = fault != nullptr && tally.planted == 0;  // then nothing was shown
  return mpi::on_root(job.world(), 0, [&] { return std::to_string(tally.differ); }) == "0" && !nowhere ? 0 : 1;
}

}  // namespace

void add_parity(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand(
      "parity", "Train a tiny model and continue texts under every layout, and compare with one rank");
  const auto options = std::make_shared<ParityOptions>();
  add_json_option(*command, options->common);
  command->add_flag(
      "--all", options->all,
      "Every combination of all choices of training, instead of every pair; of generation see below: many layouts");
  command->add_option("--break", options->fault, "Plant this fault, which must be found; without a name: list them")
      ->expected(0, 1);
  command->footer(kParityFooter);
  command->callback([options, &run] { run = [options] { return parity(*options); }; });
}

}  // namespace shardline::tools
