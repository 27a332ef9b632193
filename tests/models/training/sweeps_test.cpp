// Sweeps change no bit of a training run, whatever the strips. The oracle is the same run with every step by itself.

#include <gtest/gtest.h>

#include "models/data/byte_data.h"
#include "runtime/base/check.h"
#include "tests/models/training/job.h"

namespace shardline {
namespace {

constexpr Index kTokens = 90;

struct Trained {
  Outcome outcome;
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

class Sweeps : public OnRanks {
 protected:
  RunOnMesh run_of(const std::string& role, MlpForm mlp, const StepForm& form) const {
    TransformerConfig config{
        .vocab = 256, .d_model = 6, .layers = 2, .heads = 4, .kv_heads = 2, .head_dim = 2, .d_ff = 5};
    config.mlp = mlp;
    TrainingOptions options;
    options.batch = {12, kTokens};
    options.warmup = 0;
    options.optimizer = AdamW{{.weight_decay = 0.1, .clip_norm = 0.5}};
    return laid_out({all_on_x_, role + "=X", form}, config, options);
  }

  Trained trained(RunOnMesh what, Index strip_bytes, bool frees_cores) const {
    what.run.options.schedule.strip_bytes = strip_bytes;
    for (auto& [axis, link] : what.run.options.prices.links) link.frees_cores = frees_cores;
    Job job(world_, what);
    Trained result{.outcome = job.train(text(), 2, 1)};
    for (const Action& action : job.trainer().programs().step->schedule().actions) {
      if (action.kind == ActionKind::sweep) ++result.sweeps;
    }
    return result;
  }

  void expect_no_bit_changed(const RunOnMesh& run, bool frees_cores = false) const {
    const Trained alone = trained(run, 0, frees_cores);
    EXPECT_EQ(alone.sweeps, 0U);
    for (const Index strip_bytes : {1, 200}) {
      SCOPED_TRACE(fmt::format("strips of {}", strip_bytes));
      const Trained swept = trained(run, strip_bytes, frees_cores);
      EXPECT_GT(swept.sweeps, 0U);
      expect_same_bits(swept.outcome, alone.outcome);
    }
  }
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
