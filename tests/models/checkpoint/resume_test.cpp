// A run that goes on from a checkpoint, on the same mesh or another, is the run that was never interrupted.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <optional>

#include "models/checkpoint/step_folders.h"
#include "models/checkpoint/training_checkpoint.h"
#include "models/training/training.h"
#include "runtime/base/hash.h"
#include "runtime/base/result_error.h"
#include "tests/models/small_training.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

constexpr Index kSaved = 3;  // steps before the checkpoint
constexpr Index kSteps = 6;

struct Layout {
  int ranks;
  const char* mesh;
  const char* strategy;
  StepForm form = {};
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> kLayouts = {
      {1, "X=1", "dp=X"},
      {2, "X=2", "dp=X"},
      {3, "X=3", "fsdp=X"},
      {4, "X=2,Y=2", "zero1=X,tp=Y", {.micro_batches = 2}},
      {2, "Z=2", "pp=Z", {.micro_batches = 2}},
      {4, "Z=2,X=2", "pp=Z,fsdp=X", {.micro_batches = 4, .remat = Remat::block}},
  };
  return kLayouts;
}

/// The same run under a layout. The tied model has biases too, and experts drop choices.
TrainingRun run_of(const Layout& layout, const AbstractMesh& mesh, ParityTask task, DType dtype) {
  TrainingOptions options = parity_options(dtype, kSteps);
  options.prices = any_hardware(mesh);
  options.form = layout.form;
  if (task == ParityTask::experts) options.batch.capacity = 1;
  TransformerConfig config = parity_config(task);
  config.qkv_biases = task == ParityTask::tied;
  return {config, options, parse_strategy(layout.strategy, mesh)};
}

/// A trainer on the first ranks of a job.
struct Trained {
  Trained(const mpi::Communicator& part, const Layout& layout, ParityTask task, DType dtype,
          const std::string& resumed = "")
      : comm(part.duplicate()), mesh(AbstractMesh::parse(layout.mesh), part), engine(mesh) {
    TrainingRun run = run_of(layout, mesh.axes(), task, dtype);
    if (!resumed.empty()) {
      const OpenedStep opened = open_step(comm, resumed);
      run.begin = opened.what.position;
      run.start = [this, opened](State& state, const Model& model) { load_step(opened, state, model, comm); };
    }
    trainer.emplace(engine, plan_training(run, mesh.axes()), run.options.prices);
  }

  std::vector<StepResult> steps(Index begin, Index end) {
    std::vector<StepResult> results;
    for (Index step = begin; step < end; ++step) results.push_back(trainer->step(data, step));
    return results;
  }

  void save(const std::string& folder, Index keep = 0) const {
    const Index steps = kSaved;
    const TrainingCheckpoint what{std::get<TransformerConfig>(trainer->run().config),
                                  {steps, trainer->samples_before(steps)},
                                  {{"a", "setting"}},
                                  {.sequence = trainer->options().batch.tokens, .machine_hash = ""}};
    save_step(trainer->state(), {folder, keep}, what, trainer->model(), comm);
  }

  mpi::Communicator comm;
  Mesh mesh;
  collectives::Engine engine;
  ByteData data = parity_data();
  std::optional<Trainer> trainer;
};

class Resume : public testing::Test {
 protected:
  /// Saves after some steps under `first`, goes on under `second`, and returns the losses of both together.
  std::vector<double> losses(const Layout& first, const Layout& second, ParityTask task, DType dtype) {
    std::vector<double> all;
    const auto add = [&](const std::vector<StepResult>& steps) {
      for (const StepResult& step : steps) all.push_back(step.loss);
    };
    on_first(world_, first.ranks, [&](const mpi::Communicator& part) {
      Trained run(part, first, task, dtype);
      add(run.steps(0, kSaved));
      run.save(saved_);
    });
    world_.barrier();
    all = from_first(all);
    on_first(world_, second.ranks, [&](const mpi::Communicator& part) {
      Trained run(part, second, task, dtype, saved_);
      EXPECT_EQ(run.trainer->run().begin.steps, kSaved);
      add(run.steps(kSaved, kSteps));
    });
    return from_first(all);
  }

  /// The values of rank 0, which is in every layout.
  std::vector<double> from_first(const std::vector<double>& values) const {
    std::vector<double> result(kSteps);
    const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
    const std::string first = world_.broadcast(bytes, 0);
    result.resize(first.size() / sizeof(double));
    std::memcpy(result.data(), first.data(), first.size());
    return result;
  }

  std::vector<double> undisturbed(const Layout& layout, ParityTask task, DType dtype) {
    std::vector<double> all;
    on_first(world_, layout.ranks, [&](const mpi::Communicator& part) {
      for (const StepResult& step : Trained(part, layout, task, dtype).steps(0, kSteps)) all.push_back(step.loss);
    });
    return from_first(all);
  }

  mpi::Communicator world_ = mpi::Communicator::world();
  TemporaryFolder own_;
  std::string saved_ = world_.broadcast(own_.path("saved"), 0);
};

TEST_F(Resume, OnTheSameMeshGivesTheSameBits) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Layout& layout : layouts()) {
      SCOPED_TRACE(std::string(layout.mesh) + " " + layout.strategy);
      EXPECT_EQ(losses(layout, layout, ParityTask::tied, dtype), undisturbed(layout, ParityTask::tied, dtype));
    }
  }
}

TEST_F(Resume, OnAnotherMeshGivesTheSameRun) {
  for (const ParityTask task : {ParityTask::usual, ParityTask::tied}) {
    const std::vector<double> want = undisturbed(layouts().front(), task, DType::f64);
    for (std::size_t i = 0; i < layouts().size(); ++i) {
      const Layout& first = layouts()[i];
      const Layout& second = layouts()[(i + (task == ParityTask::tied ? 1 : 3)) % layouts().size()];
      SCOPED_TRACE(std::string(first.mesh) + " " + first.strategy + ", then " + second.mesh + " " + second.strategy);
      const std::vector<double> got = losses(first, second, task, DType::f64);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t step = 0; step < want.size(); ++step) EXPECT_NEAR(got[step], want[step], 1e-10 * want[step]);
    }
  }
}

TEST_F(Resume, ExpertsGoOnUnderAnotherStrategy) {
  const ParityTask task = ParityTask::experts;
  const std::vector<Layout> ways = {{1, "X=1", "dp=X"},
                                    {3, "X=3", "ep_fsdp=X"},
                                    {4, "X=2,Y=2", "ep=X,tp=Y", {.micro_batches = 2}},
                                    {2, "Z=2", "pp=Z", {.micro_batches = 2}},
                                    {4, "X=2,Y=2", "fsdp=X,tp_ep=Y"}};
  EXPECT_EQ(losses(ways[2], ways[2], task, DType::bf16), undisturbed(ways[2], task, DType::bf16));
  const std::vector<double> want = undisturbed(ways[0], task, DType::f64);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const Layout& first = ways[i];
    const Layout& second = ways[(i + 2) % ways.size()];
    SCOPED_TRACE(std::string(first.strategy) + ", then " + second.strategy);
    const std::vector<double> got = losses(first, second, task, DType::f64);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t step = 0; step < want.size(); ++step) EXPECT_NEAR(got[step], want[step], 1e-10 * want[step]);
  }
}

std::string read_bytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Every mesh writes the same bytes: no shard and no rank shows.
TEST_F(Resume, EveryMeshWritesTheSameFiles) {
  std::vector<std::string> first;
  for (const Layout& layout : {Layout{1, "X=1", "dp=X"}, Layout{4, "X=2,Y=2", "zero1=X,tp=Y"},
                               Layout{3, "X=3", "fsdp=X"}, Layout{2, "Z=2", "pp=Z", {.micro_batches = 2}}}) {
    SCOPED_TRACE(std::string(layout.mesh) + " " + layout.strategy);
    on_first(world_, layout.ranks, [&](const mpi::Communicator& part) {
      Trained run(part, layout, ParityTask::tied, DType::f32);
      for (const std::string& name : run.trainer->state().names()) {
        State& state = run.trainer->state();
        state.fill(name,
                   [&](Index i) { return static_cast<double>(hash_of(name) % 1000) + static_cast<double>(i) / 8; });
      }
      run.save(saved_);
    });
    world_.barrier();
    std::vector<std::string> files;
    for (const char* name : {"model.safetensors", "optimizer.safetensors", "config.json", "manifest.json"}) {
      files.push_back(read_bytes(saved_ + "/step-3/" + name));
      EXPECT_FALSE(files.back().empty());
    }
    if (first.empty()) first = files;
    EXPECT_EQ(files == first, true);
    world_.barrier();
  }
}

/// One changed byte in one file: every rank refuses, and says which tensor.
TEST_F(Resume, WhatIsAlteredOrMissingIsRefusedByName) {
  const Layout layout{3, "X=3", "fsdp=X"};
  const auto fault = [&](const std::string& name, const auto& change) {
    std::string message = "none";
    on_first(world_, layout.ranks, [&](const mpi::Communicator& part) {
      Trained(part, layout, ParityTask::usual, DType::f32).save(saved_);
      if (part.rank() == 0) {
        const std::string path = saved_ + "/step-3/" + name;
        std::string bytes = read_bytes(path);
        change(bytes);
        std::ofstream(path, std::ios::binary) << bytes;
      }
      part.barrier();
      try {
        Trained(part, layout, ParityTask::usual, DType::f32, saved_);
      } catch (const std::exception& error) {
        message = error.what();
      }
      EXPECT_EQ(part.broadcast(message, 0), message);
    });
    return world_.broadcast(message, 0);
  };
  const auto flip_last = [](std::string& bytes) { bytes.back() ^= 1; };
  EXPECT_NE(fault("model.safetensors", flip_last).find("tensor lm_head.weight is altered"), std::string::npos);
  EXPECT_NE(fault("optimizer.safetensors", flip_last).find("tensor lm_head.weight.exp_avg_sq is altered"),
            std::string::npos);
  EXPECT_NE(fault("model.safetensors", [](std::string& bytes) { bytes.pop_back(); }).find("tensor lm_head.weight"),
            std::string::npos);
  EXPECT_NE(fault("optimizer.safetensors", [](std::string& bytes) { bytes.resize(5); }).find("safetensors"),
            std::string::npos);
  EXPECT_NE(fault("manifest.json", [](std::string& bytes) { bytes.resize(bytes.size() / 2); }).find("manifest.json"),
            std::string::npos);
  EXPECT_EQ(fault("manifest.json", [](std::string&) {}), "none");
}

TEST_F(Resume, AnotherTypeOrOptimizerIsRefused) {
  const Layout layout{2, "X=2", "dp=X"};
  on_first(world_, layout.ranks, [&](const mpi::Communicator& part) {
    Trained(part, layout, ParityTask::usual, DType::f32).save(saved_);
    const std::string message = usage_error_of([&] { Trained(part, layout, ParityTask::usual, DType::f64, saved_); });
    EXPECT_NE(message.find("model.embed_tokens.weight is F32"), std::string::npos) << message;
    EXPECT_NE(message.find("the run needs f64"), std::string::npos) << message;
  });
}

}  // namespace
}  // namespace shardline
