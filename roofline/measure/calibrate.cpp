#include "roofline/measure/calibrate.h"

#include <map>
#include <vector>

#include "kernels/elementwise.h"
#include "roofline/machine/figures.h"
#include "roofline/measure/compute_probe.h"
#include "roofline/measure/link_probe.h"
#include "roofline/measure/memory_probe.h"
#include "roofline/measure/repeat.h"
#include "roofline/measure/step_probe.h"
#include "roofline/measure/tuning_probe.h"
#include "runtime/layout/tensor.h"

namespace shardline::roofline {
namespace {

/// The overhead of an operation: allocates a result, calls a kernel on almost no data and reads the clock.
Seconds probe_overhead(const mpi::Communicator& comm, Seconds budget) {
  const Tensor operand = Tensor::zeros(DType::f32, {16});
  return time_busy(comm, {.budget = budget, .least = 100}, [&] {
    Tensor result(DType::f32, {16});
    const std::vector<View<const float>> terms{operand.view<float>()};
    kernels::add<float>(terms, result.view<float>());
  });
}

/// The program sample of each element type.
using Samples = std::map<DType, ProgramSample>;

Machine measure_once(const Mesh& mesh, const CalibrationOptions& options, const Samples& programs) {
  const mpi::Communicator& comm = mesh.comm();
  const ProbeEffort effort{options.gemm_sizes, options.budget, options.samples.kernels};
  Machine machine{.name = "this machine"};
  for (const DType dtype : options.dtypes) machine.compute[dtype] = probe_compute(comm, dtype, effort);
  machine.memory = probe_memory(comm, options.budget);
  machine.overhead = probe_overhead(comm, options.budget);
  for (const auto& [dtype, program] : programs) {
    Compute& compute = machine.compute.at(dtype);
    compute.latencies = probe_latencies(comm, options.budget, program, machine.overhead, compute.gemm);
  }
  if (mesh.ranks() > 1) {
    machine.contention.gemm = probe_gemm_contention(comm, effort);
    machine.contention.memory = probe_memory_contention(comm, options.budget);
  }
  Links links = probe_links(mesh, options.budget);
  machine.resources = std::move(links.resources);
  machine.axes = std::move(links.axes);
  return machine;
}

}  // namespace

Machine calibrate(collectives::Engine& engine, const CalibrationOptions& options) {
  const Mesh& mesh = engine.mesh();
  Samples programs;
  for (const DType dtype : options.dtypes) programs[dtype] = options.samples.program(engine, dtype);
  const auto wanted = static_cast<std::size_t>(options.rounds);
  if (options.choose) {
    const ProbeEffort effort{options.gemm_sizes, 10 * options.budget, options.samples.kernels};
    for (const DType dtype : options.dtypes) choose_library(mesh.comm(), dtype, effort);
  }
  std::vector<Machine> rounds;
  const Seconds begin = now();
  for (bool more = true; more;) {
    rounds.push_back(measure_once(mesh, options, programs));
    const auto done = static_cast<double>(rounds.size());
    const double expected = mesh.comm().max((now() - begin).value * (done + 1) / done);
    more = rounds.size() < wanted && expected < options.most.value;
  }
  Machine machine = combine(rounds);
  if (options.choose && mesh.ranks() > 1) machine.tuning = probe_tuning(mesh, 5 * options.budget);
  return machine;
}

Hardware measure_briefly(collectives::Engine& engine, DType dtype, const ProgramSamples& samples) {
  const Machine machine = calibrate(engine, {.samples = samples,
                                             .dtypes = {dtype},
                                             .gemm_sizes = {4, 64, 256, 1024},
                                             .rounds = 1,
                                             .budget = Seconds(1e-3),
                                             .choose = false});
  return hardware_of(machine, engine.mesh().axes(), dtype);
}

}  // namespace shardline::roofline
