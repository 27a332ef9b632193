// Sweeps change no bit of a training run, whatever the strips. The oracle is the same run with every step by itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "models/training/data.h"
#include "models/training/training.h"
#include "runtime/base/check.h"
#include "tests/models/small_training.h"

namespace shardline {
namespace {

constexpr Index kTokens = 90;

struct Trained {
  std::vector<double> numbers;  ///< losses and norms, and the loss of the evaluation
  std::map<std::string, Tensor> blocks;
  std::size_t sweeps = 0;
};

const ByteData& text() {
  static const ByteData kText({"text"}, kTokens, 3, [](const std::string&) {
    std::string lines;
    for (int i = 0; i < 2000; ++i) lines += "line " + std::to_string(i * i % 97) + ";\n";
    return lines;
  });
  return kText;
}

class Sweeps : public testing::Test {
 protected:
  TrainingRun run_of(const std::string& role, MlpForm mlp, const StepForm& form) const {
    TransformerConfig config{
        .vocab = 256, .d_model = 6, .layers = 2, .heads = 4, .kv_heads = 2, .head_dim = 2, .d_ff = 5};
    config.mlp = mlp;
    TrainingRun run{.config = config, .options = {}, .strategy = parse_strategy(role + "=X", axes_)};
    run.options.batch = {12, kTokens};
    run.options.form = form;
    run.options.warmup = 0;
    run.options.optimizer = AdamW{{.weight_decay = 0.1, .clip_norm = 0.5}};
    run.options.prices = any_hardware(axes_);
    return run;
  }

  Trained trained(TrainingRun run, Index strip_bytes, bool frees_cores) const {
    run.options.schedule.strip_bytes = strip_bytes;
    for (auto& [axis, link] : run.options.prices.links) link.frees_cores = frees_cores;
    const Mesh mesh(axes_, mpi::Communicator::world());
    collectives::Engine engine(mesh);
    Trainer trainer(engine, plan_training(run, axes_), run.options.prices);
    Trained result;
    for (const Action& action : trainer.programs().step->schedule().actions) {
      if (action.kind == ActionKind::sweep) ++result.sweeps;
    }
    for (Index step = 0; step < 2; ++step) {
      const StepResult each = trainer.step(text(), step);
      result.numbers.insert(result.numbers.end(), {each.loss, each.grad_norm});
    }
    Index read = 0;
    result.numbers.push_back(trainer.evaluate(text(), 1, read));
    const State& state = std::as_const(trainer).state();
    for (const std::string& name : state.names()) result.blocks[name] = state.block(name).clone();
    return result;
  }

  void expect_no_bit_changed(const TrainingRun& run, bool frees_cores = false) const {
    const Trained alone = trained(run, 0, frees_cores);
    EXPECT_EQ(alone.sweeps, 0U);
    for (const Index strip_bytes : {1, 200}) {
      SCOPED_TRACE(fmt::format("strips of {}", strip_bytes));
      const Trained swept = trained(run, strip_bytes, frees_cores);
      EXPECT_GT(swept.sweeps, 0U);
      EXPECT_EQ(swept.numbers, alone.numbers);
      for (const auto& [name, block] : alone.blocks) {
        const Tensor& other = swept.blocks.at(name);
        EXPECT_TRUE(std::equal(block.data(), block.data() + block.bytes(), other.data(), other.data() + other.bytes()))
            << name;
      }
    }
  }

  AbstractMesh axes_{{{"X", mpi::Communicator::world().size()}}};
};

TEST_F(Sweeps, ChangeNoBitOfAnyMlp) {
  for (const MlpForm mlp : {MlpForm::swiglu, MlpForm::geglu, MlpForm::gelu}) {
    expect_no_bit_changed(run_of("fsdp", mlp, {}));
  }
}

TEST_F(Sweeps, ChangeNoBitUnderAnyStrategy) {
  for (const char* role : {"dp", "tp", "tp_seq"}) {
    SCOPED_TRACE(role);
    expect_no_bit_changed(run_of(role, MlpForm::swiglu, {}));
  }
}

TEST_F(Sweeps, ChangeNoBitOfMicroBatchesAndRematerialisation) {
  for (const Remat remat : {Remat::none, Remat::matmuls, Remat::block}) {
    expect_no_bit_changed(run_of("fsdp", MlpForm::swiglu, {.micro_batches = 2, .remat = remat}));
  }
}

/// Strips are polled between while collectives are in flight.
TEST_F(Sweeps, ChangeNoBitBesideCollectives) { expect_no_bit_changed(run_of("fsdp", MlpForm::geglu, {}), true); }

}  // namespace
}  // namespace shardline
