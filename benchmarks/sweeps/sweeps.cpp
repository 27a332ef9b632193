// Chains of elementwise operations on one rank, in sweeps of some strips and each operation by itself. Every row is
// measured within one run, all variants in turn. Run it without mpirun.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/command_line.h"
#include "program/ops/add.h"
#include "program/ops/cross_entropy.h"
#include "program/ops/rms_norm.h"
#include "program/partition/partition.h"
#include "program/run/execute.h"
#include "program/transform/differentiate.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"
#include "tools/memory.h"

namespace shardline {
namespace {

struct Arguments {
  int runs = 31;
};

/// A program and the kernels of it that are timed.
struct Chain {
  std::string name;
  Program program;
  std::set<std::string> kinds;
};

Program sizes(Index batch, Index tokens, const std::string& dim, Index width) {
  Program p;
  p.sizes = {{"B", batch}, {"T", tokens}, {dim, width}};
  return p;
}

Chain add_and_norm(Index width) {
  Program p = sizes(8, 256, "D", width);
  const ArrayId a = p.add_input("a", {"B", "T", "D"}, Role::activation);
  const ArrayId b = p.add_input("b", {"B", "T", "D"}, Role::activation);
  const ArrayId w = p.add_input("w", {"D"}, Role::parameter);
  const ArrayId h = add(p, "h", {a, b});
  p.outputs = {h, rms_norm(p, "y", h, w, 1e-5)};
  return {fmt::format("add and norm, d {}", width), p, {"add", "sum_squares_rows", "normalize"}};
}

Chain norm_gradient_and_add(Index width) {
  Program p = sizes(8, 256, "D", width);
  const ArrayId x = p.add_input("x", {"B", "T", "D"}, Role::activation);
  const ArrayId w = p.add_input("w", {"D"}, Role::parameter);
  const ArrayId y = rms_norm(p, "y", x, w, 1e-5);
  p.region.pass = Pass::backward;
  const ArrayId dy = p.add_input("dy", {"B", "T", "D"}, Role::gradient);
  p.array(dy).primal = y;
  const std::map<ArrayId, ArrayId> gradients = differentiate(p, {{y, dy}}, {x, w});
  const ArrayId more = p.add_input("more", {"B", "T", "D"}, Role::activation);
  p.outputs = {add(p, "sum", {gradients.at(x), more}), gradients.at(w)};
  for (Operation& operation : p.operations) {
    if (operation.kind == "rms_norm_grad") operation.region.pass = Pass::backward;
  }
  return {fmt::format("gradient of norm and add, d {}", width), p, {"norm_dot", "norm_grad", "add"}};
}

Chain cross_entropy_forward(Index vocabulary) {
  Program p = sizes(8, 256, "V", vocabulary);
  const ArrayId logits = p.add_input("logits", {"B", "T", "V"}, Role::activation);
  p.outputs = {cross_entropy(p, "loss", logits, p.add_input("labels", {"B", "T"}, Role::tokens))};
  return {fmt::format("cross entropy, V {}", vocabulary), p, {"row_max", "sum_exp", "pick"}};
}

/// Values of all inputs, which the variants of a chain share.
std::map<ArrayId, Tensor> inputs_of(const Program& program) {
  std::map<ArrayId, Tensor> inputs;
  for (const ArrayId input : program.inputs) {
    const Array& array = program.array(input);
    Tensor values = Tensor::zeros(array.dtype, array.shape);
    for (Index i = 0; array.dtype == DType::f32 && i < values.size(); ++i) {
      values.view<float>()[i] = static_cast<float>(i % 31) / 31;
    }
    inputs[input] = std::move(values);
  }
  return inputs;
}

/// A chain with strips of so many bytes.
class Variant {
 public:
  Variant(const Chain& chain, const std::map<ArrayId, Tensor>& inputs, Index strip_bytes, collectives::Engine& engine)
      : chain_(chain) {
    std::map<ArrayId, Sharding> layouts;
    for (const std::vector<ArrayId>* ids : {&chain.program.inputs, &chain.program.outputs}) {
      for (const ArrayId id : *ids) layouts[id] = Sharding::replicated(chain.program.array(id).dims.size());
    }
    RankProgram program =
        partition(chain.program, engine.mesh().axes(), {.layouts = layouts, .work = {}, .policy = {}});
    executor_ =
        std::make_unique<Executor>(compile(std::move(program), {.scheduling = {{.strip_bytes = strip_bytes}}}), engine);
    for (const auto& [input, values] : inputs) executor_->set(input, values);
  }

  /// The time of the kernels of the chain in one run.
  Seconds time() {
    executor_->forget_times();
    executor_->run();
    Seconds sum;
    for (const Span& span : executor_->trace().spans()) {
      const Label& label = executor_->trace().labels()[static_cast<std::size_t>(span.label)];
      if (chain_.kinds.contains(label.kind)) sum += span.end - span.begin;
    }
    return sum;
  }

 private:
  const Chain& chain_;
  std::unique_ptr<Executor> executor_;
};

/// Other work on the machine only adds to a time.
Seconds fastest(const std::vector<Seconds>& times) { return *std::min_element(times.begin(), times.end()); }

int run_command(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Sweeps beside single operations: times, and how much faster", "sweeps_benchmark"};
  app.add_option("--runs", arguments.runs, "timed runs of each variant");
  if (!parse_arguments(app, argc, argv)) return 0;
  const Mesh mesh(AbstractMesh({{"X", 1}}), mpi::Communicator::world());
  collectives::Engine engine(mesh);
  const std::vector<Index> strips = {0, 64, 128, 256, 512, 1024};
  std::cout << fmt::format("{:<36}{:>10}", "strips of", "none");
  for (const Index each : strips) std::cout << (each > 0 ? fmt::format("{:>8} KiB", each) : "");
  std::cout << "   (faster than none)\n";
  const std::vector<std::function<Chain()>> chains = {
      [] { return add_and_norm(512); },          [] { return add_and_norm(2048); },
      [] { return norm_gradient_and_add(512); }, [] { return norm_gradient_and_add(2048); },
      [] { return cross_entropy_forward(257); }, [] { return cross_entropy_forward(32000); }};
  for (const auto& make : chains) {
    const Chain chain = make();
    const std::map<ArrayId, Tensor> inputs = inputs_of(chain.program);
    std::vector<Variant> variants;
    for (const Index each : strips) variants.emplace_back(chain, inputs, each << 10, engine);
    std::vector<std::vector<Seconds>> times(strips.size());
    for (int run = -1; run < arguments.runs; ++run) {
      for (std::size_t i = 0; i < variants.size(); ++i) {
        const Seconds time = variants[i].time();
        if (run >= 0) times[i].push_back(time);  // the first is a warm-up
      }
    }
    const Seconds apart = fastest(times[0]);
    std::cout << fmt::format("{:<36}{:>10}", chain.name, to_string(apart));
    for (std::size_t i = 1; i < strips.size(); ++i) std::cout << fmt::format("{:>12.2f}", apart / fastest(times[i]));
    std::cout << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  shardline::tools::keep_freed_memory();
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded([&] { return shardline::run_command(argc, argv); });
}
