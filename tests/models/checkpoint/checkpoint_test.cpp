// A model is saved under one layout and loaded under another. It has the same bits, and no rank reads more than
// its blocks.
#include "models/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "models/checkpoint/digests.h"
#include "runtime/base/result_error.h"
#include "tests/models/small_training.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

/// The tied one has biases too.
TransformerConfig model_of(bool tied) {
  TransformerConfig config = parity_config(tied ? ParityTask::tied : ParityTask::usual);
  config.qkv_biases = tied;
  return config;
}

/// A model on the ranks of a job: a state under a layout, not yet filled.
struct Placed {
  Placed(const mpi::Communicator& comm, const std::string& axes, const std::string& strategy, DType dtype, bool tied)
      : mesh(AbstractMesh::parse(axes), comm),
        engine(mesh),
        plan(planned(mesh.axes(), strategy, dtype, tied)),
        state(engine, plan.stages[0].state()) {}

  static TrainingPlan planned(const AbstractMesh& mesh, const std::string& strategy, DType dtype, bool tied) {
    TrainingOptions options = parity_options(dtype, 1);
    options.prices = any_hardware(mesh);
    return plan_training({model_of(tied), options, parse_strategy(strategy, mesh)}, mesh);
  }
  const Model& model() const { return plan.step_model.model; }
  std::string hash() const { return weights_hash(state, model(), mesh.comm()); }
  std::string name(const ModelParameter& parameter) const { return model().program.array(parameter.array).name; }

  Mesh mesh;
  collectives::Engine engine;
  TrainingPlan plan;
  State state;
};

/// A different value for every element of every parameter.
double element(std::size_t parameter, Index i) {
  return static_cast<double>(parameter) + 1.0 / static_cast<double>(i + 2);
}

const TrainingNotes kNotes{.sequence = 7, .machine_hash = ""};

class Checkpoints : public testing::Test {
 protected:
  /// The layouts that a job of this size loads.
  std::vector<std::pair<std::string, std::string>> layouts() const {
    if (world_.size() == 1) return {{"X=1", "fsdp=X"}};
    return {{"X=4", "dp=X"},
            {"X=4", "fsdp=X"},
            {"X=4", "tp=X"},
            {"X=4", "tp_g=X"},
            {"X=2,Y=2", "fsdp=X,tp=Y"},
            {"X=2,Y=2", "tp_g=X,tp_seq=Y"},
            {"Y=2,X=2", "zero1=X,tp_g=Y"}};
  }
  /// The same folder on all ranks.
  std::string folder() const { return world_.broadcast(own_.path(), 0); }

  static void expect_elements(const Placed& loaded) {
    const std::vector<ModelParameter>& parameters = loaded.model().parameters;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const Tensor held = loaded.state.gather(loaded.name(parameters[p]));
      Tensor made(DType::f64, held.shape());
      for (Index i = 0; i < made.size(); ++i) made.view<double>()[i] = element(p, i);
      const Tensor want = made.as(held.dtype()).as(DType::f64);
      const Tensor got = held.as(DType::f64);
      for (Index i = 0; i < want.size(); ++i) {
        ASSERT_EQ(got.view<double>()[i], want.view<double>()[i]) << parameters[p].checkpoint_name << " element " << i;
      }
    }
  }

  mpi::Communicator world_ = mpi::Communicator::world();
  TemporaryFolder own_;
};

TEST_F(Checkpoints, ComeBackInEveryLayout) {
  for (const auto& [dtype, tied] : {std::pair(DType::f32, false), std::pair(DType::f64, true)}) {
    for (const auto& [axes, strategy] : layouts()) {
      SCOPED_TRACE(axes + " " + strategy);
      Placed saved(world_, axes, strategy, dtype, tied);
      const std::vector<ModelParameter>& parameters = saved.model().parameters;
      for (std::size_t p = 0; p < parameters.size(); ++p) {
        saved.state.fill(saved.name(parameters[p]), [p](Index i) { return element(p, i); });
      }
      save_checkpoint(saved.state, folder(), model_of(tied), saved.model(), kNotes, saved.state.engine().mesh().comm());
      const Checkpoint checkpoint = open_checkpoint(world_, folder());
      EXPECT_EQ(checkpoint.sequence, kNotes.sequence);
      for (const auto& [other_axes, other_strategy] : layouts()) {
        SCOPED_TRACE("loaded as " + other_axes + " " + other_strategy);
        Placed loaded(world_, other_axes, other_strategy, dtype, tied);
        load_parameters(checkpoint, loaded.state, loaded.model(), loaded.state.engine().mesh().comm());
        expect_elements(loaded);
        EXPECT_EQ(loaded.hash(), saved.hash());
      }
    }
  }
}

TEST_F(Checkpoints, TheHashSeesEveryElementAndItsPlace) {
  for (const auto& [axes, strategy] : layouts()) {
    SCOPED_TRACE(axes + " " + strategy);
    Placed placed(world_, axes, strategy, DType::f32, false);
    const std::vector<ModelParameter>& parameters = placed.model().parameters;
    std::set<std::string> hashes;
    const auto add_hash = [&](std::size_t changed, const DistTensor::Element& change) {
      for (std::size_t p = 0; p < parameters.size(); ++p) {
        const auto usual = [p](Index i) { return element(p, i); };
        placed.state.fill(placed.name(parameters[p]), p == changed ? change : DistTensor::Element(usual));
      }
      hashes.insert(placed.hash());
    };
    const std::size_t none = parameters.size();
    add_hash(none, {});
    add_hash(none, {});
    EXPECT_EQ(hashes.size(), 1U);
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      add_hash(p, [p](Index i) { return element(p, i) + (i == 3 ? 1e-3 : 0); });
      add_hash(p, [p](Index i) { return element(p, i == 1 ? 2 : i == 2 ? 1 : i); });
    }
    EXPECT_EQ(hashes.size(), 1 + 2 * parameters.size());
  }
}

/// Only one rank's block is wrong, and every rank throws.
TEST_F(Checkpoints, WhatCannotBeHeldIsRefusedOnEveryRank) {
  const auto [axes, strategy] = layouts().back();
  const auto fault = [&, axes = axes, strategy = strategy](double value, DType dtype) {
    Placed saved(world_, axes, strategy, DType::f64, false);
    for (const ModelParameter& parameter : saved.model().parameters) saved.state.fill_zeros(saved.name(parameter));
    const ModelParameter& last = saved.model().parameters.back();
    const Index end = element_count(saved.model().program.array(last.array).shape) - 1;
    saved.state.fill(saved.name(last), [&](Index i) { return i == end ? value : 0; });
    save_checkpoint(saved.state, folder(), model_of(false), saved.model(), kNotes, saved.state.engine().mesh().comm());
    const Checkpoint checkpoint = open_checkpoint(world_, folder());
    Placed loaded(world_, axes, strategy, dtype, false);
    try {
      load_parameters(checkpoint, loaded.state, loaded.model(), loaded.state.engine().mesh().comm());
    } catch (const ResultError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(fault(1e39, DType::f64), "nothing");
  EXPECT_EQ(fault(1e39, DType::f32), "tensor lm_head.weight holds numbers too large for f32; --dtype f64 may help");
  EXPECT_NE(fault(std::nan(""), DType::f64).find("tensor lm_head.weight holds NaN"), std::string::npos);
}

}  // namespace
}  // namespace shardline
