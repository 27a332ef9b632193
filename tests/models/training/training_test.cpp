// Training on a mesh: its memory, its report of non-finite weights, and its repeatability. parity_test.cpp
// checks that every layout trains the same model.
#include "models/training/training.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/models/training/job.h"

namespace shardline {
namespace {

constexpr Index kSteps = 10;

Outcome train(const mpi::Communicator& comm, const Layout& layout, DType dtype) {
  return Job(comm, parity_run(layout, dtype, kSteps)).train(parity_data(), kSteps, 3);
}

class Training : public OnRanks {};

TEST_F(Training, LossFallsOnOneRank) {
  const Outcome run = train(alone_, {}, DType::f64);
  EXPECT_LT(run.steps.back().loss, run.steps.front().loss - 0.5);
}

TEST_F(Training, LayoutsAreCloseInF32AndTheSameBitsWhenRepeated) {
  const Outcome reference = train(alone_, {}, DType::f32);
  const std::vector<Layout> some = {{"X=1", "dp=X"}, {"X=2", "zero1=X"},         {"X=3", "fsdp=X"},
                                    {"Y=3", "tp=Y"}, {"X=2,Y=2", "fsdp=X,tp=Y"}, {"Y=4", "tp_seq=Y"}};
  for (const Layout& layout : some) {
    on_first(world_, static_cast<int>(AbstractMesh::parse(layout.mesh).ranks()), [&](const mpi::Communicator& part) {
      SCOPED_TRACE(layout.mesh + " " + layout.strategy);
      const Outcome run = train(part, layout, DType::f32);
      expect_close(run, reference, {.loss = 1e-4, .norm = 1e-4});
      expect_same_bits(train(part, layout, DType::f32), run);
    });
  }
}

TEST_F(Training, MemoryIsWhatLivenessPredicts) {
  const ByteData data = parity_data();
  for (const char* strategy : {"dp", "zero1", "fsdp"}) {
    SCOPED_TRACE(strategy);
    Job job(world_, parity_run({all_on_x_, strategy}, DType::f64, kSteps));
    Trainer& trainer = job.trainer();
    for (Index step = 0; step < 2; ++step) trainer.step(data, step);  // from now on scratch buffers exist
    const Index before = tensor_memory().now;
    const double resting = static_cast<double>(before);
    reset_tensor_peak();
    trainer.step(data, 2);
    EXPECT_EQ(tensor_memory().now, before) << "a step must free what it took";
    EXPECT_GE(trainer.predicted_memory().value, 0.5 * resting);
    EXPECT_NEAR(static_cast<double>(tensor_memory().peak), trainer.predicted_memory().value,
                0.02 * trainer.predicted_memory().value);
  }
}

/// One element of one rank's block is wrong, and every rank learns it.
TEST_F(Training, AWeightThatIsNotFiniteIsFoundOnEveryRank) {
  RunOnMesh what = parity_run({"X=2,Y=2", "fsdp=X,tp=Y"}, DType::f32, kSteps);
  const TrainingStep step = what.run.step_model();
  const std::size_t last = step.model.parameters.size() - 1;
  const auto found = [&](std::size_t at, double value) {
    what.run.start = [&, at, value](State& state, const Model&) {
      for (std::size_t i = 0; i < step.model.parameters.size(); ++i) {
        const Array& array = step.model.program.array(step.model.parameters[i].array);
        const Index end = element_count(array.shape) - 1;
        state.fill(array.name, [&](Index k) { return i >= at && k == end ? value : 0; });
      }
    };
    return Job(world_, what).trainer().non_finite_parameter();
  };
  const std::string name = step.model.parameters[last].checkpoint_name;
  EXPECT_EQ(found(last, 1.0), "");
  EXPECT_EQ(found(last, std::nan("")), name + " holds NaN");
  EXPECT_EQ(found(last, 1e39), name + " holds infinity");  // in f32
  EXPECT_EQ(found(1, -1e39), step.model.parameters[1].checkpoint_name + " holds infinity");
}

TEST_F(Training, WhatARunTakesIsKnownBefore) {
  for (const Index sequences : {Index{5}, Index{40}}) {
    for (const char* strategy : {"dp", "zero1", "zero2", "fsdp", "pp"}) {
      SCOPED_TRACE(strategy);
      RunOnMesh what = parity_run({all_on_x_, strategy}, DType::f64, kSteps);
      what.run.options.batch.sequences = sequences;
      expect_known_memory(world_, what, parity_data());
    }
  }
}

}  // namespace
}  // namespace shardline
