#include "tools/bench/bench_options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>

#include "runtime/base/check.h"
#include "runtime/base/lists.h"
#include "tools/bench/bench_case.h"
#include "tools/bench/bench_habits.h"
#include "tools/bench/bench_sizes.h"
#include "tools/options/number_option.h"
#include "tools/output/text.h"

namespace shardline::tools {

using collectives::Algorithm;
using collectives::Kind;
using collectives::Wire;

namespace {

constexpr std::array kKinds = {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::all_to_all, Kind::shift};
constexpr std::array kOps = {ReduceOp::sum, ReduceOp::max, ReduceOp::avg};
constexpr std::array kWires = {Wire::automatic, Wire::exchange, Wire::f32, Wire::hop};
constexpr std::array kShiftAlgorithms = {Algorithm::automatic, Algorithm::ring, Algorithm::direct, Algorithm::native};

template <class Values>
std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.emplace_back(name_of(value));
  return names;
}

/// The one of `values` with the name `name`. `what` is for the message.
template <class Values>
auto named(const Values& values, const std::string& name, const std::string& what) {
  for (const auto& value : values) {
    if (name == name_of(value)) return value;
  }
  usage_error("{} '{}': there are {}", what, name, listed(names_of(values)));
}

template <class T>
void add_once(std::vector<T>& list, const T& item, const std::string& what) {
  require(std::find(list.begin(), list.end(), item) == list.end(), "{} is given twice", what);
  list.push_back(item);
}

std::vector<Kind> kinds_of(const std::vector<std::string>& names) {
  if (names.empty()) return {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::all_to_all};
  std::vector<Kind> kinds;
  for (const std::string& given : names) {
    const std::string name = collective_name(given);
    add_once(kinds, named(kKinds, name, "collective"), "collective " + name);
  }
  return kinds;
}

std::vector<Algorithm> algorithms_of(const std::string& text) {
  std::vector<Algorithm> algorithms;
  for (const std::string& name : split(text, ',')) {
    add_once(algorithms, collectives::algorithm_named(name), fmt::format("--algorithm {}: {}", text, name));
  }
  return algorithms;
}

/// The requested sizes, in elements.
std::vector<Index> counts_of(const BenchOptions& options, Index element_size) {
  if (!options.counts.empty()) return parse_counts(options.counts);
  if (options.least_bytes.empty() && options.most_bytes.empty() && options.factor.empty()) {
    return parse_byte_range(options.bytes, element_size);
  }
  const auto given_or = [](const std::string& text, const char* otherwise) {
    return text.empty() ? std::string(otherwise) : text;
  };
  return sizes_between(given_or(options.least_bytes, "1K"), given_or(options.most_bytes, "16M"),
                       given_or(options.factor, "4"), element_size);
}

Axes axes_of(const std::string& text, const AbstractMesh& mesh) {
  if (text.empty()) return mesh.axes();
  Axes axes;
  for (const Axis& axis : split(text, ',')) {
    require(mesh.has(axis), "--axis {}: there is no axis '{}' in mesh {}", text, axis, mesh.to_string());
    add_once(axes, axis, fmt::format("--axis {}: axis {}", text, axis));
  }
  return axes;
}

Index segment_of(const std::string& text) {
  if (text.empty()) return 0;
  constexpr Index kMost = 1LL << 30;
  const Index bytes = parse_size("--segment", text);
  require(bytes <= kMost, "--segment {}: from 1 byte to 1G", text);
  return bytes;
}

/// Why `algorithm` cannot run `kind` as planned; empty if it can. `auto` always can.
std::string fault_of(Kind kind, Algorithm algorithm, const BenchPlan& plan) {
  if (algorithm == Algorithm::automatic) return "";
  const auto& shifts = kShiftAlgorithms;
  if (kind == Kind::shift && std::find(shifts.begin(), shifts.end(), algorithm) == shifts.end()) {
    return fmt::format("shift has no algorithm {}; it has {}", name_of(algorithm), listed(names_of(shifts)));
  }
  if (!reduces(kind) || plan.dtype != DType::bf16) return "";
  if (algorithm == Algorithm::native) {
    return fmt::format("{} by native has no bf16, which MPI does not know how to reduce", name_of(kind));
  }
  try {
    static_cast<void>(collectives::wire_for(plan.wire, algorithm, plan.dtype));
  } catch (const UsageError& error) {
    return fmt::format("{}: {}", name_of(kind), error.what());
  }
  return "";
}

/// Refuses options that would have no effect.
void check_reductions(const std::vector<Kind>& kinds, const BenchPlan& plan) {
  const bool some = std::any_of(kinds.begin(), kinds.end(), reduces);
  require(plan.op == ReduceOp::sum || some, "--op {}: none of the collectives given reduces", name_of(plan.op));
  require(plan.op != ReduceOp::avg || !is_integer(plan.dtype), "--op avg: averages are of f32, f64 and bf16, not {}",
          name_of(plan.dtype));
  require(plan.wire == Wire::automatic || (some && plan.dtype == DType::bf16),
          "--wire {}: only reductions of bf16 have a choice of wires", name_of(plan.wire));
}

void add_size_options(CLI::App& command, BenchOptions& options) {
  auto* bytes =
      command.add_option("--bytes", options.bytes, "Sizes MIN:MAX[:FACTOR]; K, M, G are powers of 1024, FACTOR 4")
          ->capture_default_str();
  auto* counts = command.add_option("--counts", options.counts, "Sizes in elements instead, as in 1,7,4096")
                     ->excludes(bytes)
                     ->check(not_empty());
  const auto add_part = [&](const char* name, std::string& part, const char* help) {
    command.add_option(name, part, help)->excludes(bytes)->excludes(counts)->check(not_empty());
  };
  add_part("-b,--minbytes", options.least_bytes, "Smallest size, as nccl-tests takes it [1K]");
  add_part("-e,--maxbytes", options.most_bytes, "Largest size [16M]");
  add_part("-f,--stepfactor", options.factor, "Factor by which sizes grow [4]");
}

void add_timing_options(CLI::App& command, BenchOptions& options) {
  auto* seconds = add_decimal_option(command,
                                     {.name = "--seconds",
                                      .help = "Time for the runs of one row, in at least 5 samples",
                                      .positive = true,
                                      .most = 86400},
                                     options.seconds);
  command.add_option("-n,--iters", options.iters, "Timed runs of one row instead, as nccl-tests takes them")
      ->excludes(seconds)
      ->check(not_empty());
  command.add_flag("--cold", options.cold, "Take other arrays in every run, together twice the last-level cache");
}

}  // namespace

void add_bench_options(CLI::App& command, BenchOptions& options) {
  options.common.dtypes = {DType::f32, DType::bf16, DType::f64, DType::i32, DType::i64};
  command.add_option("COLLECTIVE", options.collectives, "Of " + listed(names_of(kKinds)) + " [the first four]");
  command.add_option("--axis", options.axis, "Mesh axes, major first, as in X or X,Y [all axes of the mesh]")
      ->check(not_empty());
  command.add_option("--algorithm", options.algorithm, "Of " + listed(names_of(collectives::kAlgorithms)))
      ->capture_default_str();
  add_size_options(command, options);
  command.add_option("--op", options.op, "What reductions do: sum, max or avg (of floats)")->capture_default_str();
  command.add_option("--wire", options.wire, "How sums of bf16 travel: auto, exchange, f32 or hop")
      ->capture_default_str();
  command
      .add_option("--segment", options.segment, "Bytes of the pieces that messages are cut into [the library's choice]")
      ->check(not_empty());
  add_timing_options(command, options);
  command.add_option("--plot", options.plot, "Draw bandwidth against size into this SVG file")->check(not_empty());
  command.add_option("--csv", options.csv, "Write the rows to this file; - is standard output")->check(not_empty());
  add_report_option(command, options.report, "the run");
  add_common_options(command, options.common);
  add_machine_options(command, options.common.machine);
  add_foreign_options(command);
}

BenchPlan plan_bench(const BenchOptions& options, DType dtype, const AbstractMesh& mesh) {
  const std::vector<Kind> kinds = kinds_of(options.collectives);
  const std::vector<Algorithm> algorithms = algorithms_of(options.algorithm);
  BenchPlan plan;
  plan.axes = axes_of(options.axis, mesh);
  plan.ranks = mesh.size(plan.axes);
  plan.dtype = dtype;
  plan.counts = counts_of(options, size_of(dtype));
  plan.op = named(kOps, options.op, "--op");
  plan.wire = named(kWires, options.wire, "--wire");
  plan.segment_bytes = segment_of(options.segment);
  plan.timing.budget = Seconds(options.seconds);
  if (!options.iters.empty()) plan.timing.runs = parse_runs(options.iters);
  plan.cold = options.cold;
  check_reductions(kinds, plan);
  for (const Kind kind : kinds) {
    KindPlan kind_plan{kind, {}};
    std::vector<std::string> faults;
    for (const Algorithm algorithm : algorithms) {
      const std::string fault = fault_of(kind, algorithm, plan);
      if (fault.empty()) {
        kind_plan.algorithms.push_back(algorithm);
      } else {
        faults.push_back(fault);
      }
    }
    if (kind_plan.algorithms.empty()) usage_error("{}", faults[0]);
    plan.left_out.insert(plan.left_out.end(), faults.begin(), faults.end());
    plan.kinds.push_back(std::move(kind_plan));
  }
  return plan;
}

}  // namespace shardline::tools
