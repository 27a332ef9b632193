// Trains on stages. A kernel of the last but one stage throws while the others wait. failing_stage_test.sh checks the
// end of the job.

#include <cstdio>
#include <stdexcept>

#include "models/data/made_data.h"
#include "models/training/training.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"
#include "tests/models/small_training.h"

namespace shardline {
namespace {

constexpr Index kWidth = 4;

constexpr Kernel kThrows{
    .name = "throws",
    .run = [](const PhaseBlock&, const KernelArrays&) { throw std::runtime_error("the stage is on fire"); },
    .cost = [](const PhaseBlock&) { return kernels::Cost{}; },
};

/// The same program. Its first backward operation throws.
RankProgram burning(RankProgram program) {
  for (Operation& operation : program.program.operations) {
    if (operation.region.pass != Pass::backward) continue;
    for (Phase& phase : operation.phases) phase.kernel = &kThrows;
  }
  return program;
}

int train() {
  const mpi::Communicator world = mpi::Communicator::world();
  const Mesh mesh(AbstractMesh({{"Z", world.size()}}), world);
  collectives::Engine engine(mesh);
  TrainingRun run{.config = MlpConfig{.d_model = kWidth, .d_ff = kWidth, .layers = world.size()},
                  .options = {},
                  .strategy = parse_strategy("pp=Z", mesh.axes())};
  run.options.batch = {8, 1};
  run.options.form.micro_batches = 8;
  run.options.optimizer = PlainDescent{};
  run.options.prices = any_hardware(mesh.axes());
  TrainingPlan plan = plan_training(run, mesh.axes());
  StagePrograms& burns = plan.stages[static_cast<std::size_t>(world.size() - 2)];
  burns.step =
      compile(burning(burns.step->program()), {.scheduling = run.options.schedule, .prices = run.options.prices});
  Trainer trainer(engine, std::move(plan), run.options.prices);
  trainer.step(MadeData(kWidth, 0), 0);
  std::puts("nothing burnt");
  return 0;
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded(shardline::train);
}
