#include <gtest/gtest.h>

#include "program/ir/print.h"
#include "program/partition/check.h"
#include "runtime/base/check.h"
#include "tests/program/programs.h"
#include "tests/program/scale.h"
#include "tests/program/simulator.h"

/// A Transformer under common strategies: every value on every rank equals that of the unsharded program.
namespace shardline {
namespace {

struct Setting {
  const char* strategy;
  std::vector<const char*> meshes;
};

const std::vector<Setting> kSettings = {
    {"dp", {"X=2", "X=3", "X=4"}},
    {"zero1", {"X=2", "X=3"}},
    {"fsdp", {"X=1", "X=2", "X=3", "X=5"}},
    {"tp", {"Y=2", "Y=3", "Y=4"}},
    {"tp_seq", {"Y=2", "Y=3", "Y=4"}},
    {"tp_g", {"Y=2", "Y=3", "Y=4"}},
    {"fsdp+tp", {"X=2,Y=2", "X=3,Y=2", "X=2,Y=3"}},
    {"fsdp+tp_seq", {"X=2,Y=2", "X=3,Y=2", "X=2,Y=3"}},
    {"dp=W,fsdp=X,tp_seq=Y", {"W=2,X=2,Y=2"}},
    {"fsdp=W,fsdp=X,tp=Y", {"W=2,X=2,Y=2"}},
    {"zero1=X,tp_seq=Y,tp_g=Z", {"X=2,Y=2,Z=2"}},
};

void expect_right(const Program& program, const Values& reference, const char* mesh, const char* strategy) {
  for (const Policy& policy : {Policy{}, kRegather, Policy{Reuse::keep, Reuse::keep}}) {
    const RankProgram ranks = partitioned(program, mesh, strategy, policy);
    ASSERT_NO_THROW(check(ranks)) << strategy << ' ' << mesh;
    ASSERT_NO_THROW(simulate(ranks, reference)) << strategy << ' ' << mesh;
  }
}

TEST(TransformerProgram, TrainingStepsAreRightUnderEveryStrategy) {
  for (const Index layers : {1, 2}) {
    for (const bool divides : {true, false}) {
      if (kFewer > 1 && (divides || layers == 2)) continue;
      const TrainingStep step = small_training_step(divides, divides == (layers == 1), layers);
      const Program& program = step.model.program;
      const Values reference = run_unsharded(program, random_inputs(program, 1));
      for (const Setting& setting : kSettings) {
        for (const char* mesh : setting.meshes) expect_right(program, reference, mesh, setting.strategy);
      }
    }
  }
}

TEST(TransformerProgram, EveryFormOfTheMlpIsRight) {
  for (const MlpForm mlp : {MlpForm::geglu, MlpForm::gelu}) {
    TransformerConfig config = small_config(false);
    config.mlp = mlp;
    const TrainingStep step = make_training_step(config, small_batch(false), {});
    const Program& program = step.model.program;
    const Values reference = run_unsharded(program, random_inputs(program, 1));
    for (const Setting& setting : kSettings) expect_right(program, reference, setting.meshes[0], setting.strategy);
  }
}

TEST(TransformerProgram, InferenceAndEvaluationAreRight) {
  for (const bool divides : {true, false}) {
    for (const Model& model : {make_inference(small_config(divides), small_batch(divides)),
                               make_evaluation(small_config(divides, true), small_batch(divides))}) {
      const Values reference = run_unsharded(model.program, random_inputs(model.program, 1));
      for (const Setting& setting : kSettings)
        expect_right(model.program, reference, setting.meshes[0], setting.strategy);
    }
  }
}

TEST(TransformerProgram, EveryRankDerivesTheSameProgram) {
  const TrainingStep step = small_training_step(false);
  EXPECT_EQ(lines(partitioned(step.model.program, "X=2,Y=3", "fsdp+tp")),
            lines(partitioned(step.model.program, "X=2,Y=3", "fsdp+tp")));
}

TEST(TransformerProgram, AnInputWithoutALayoutIsNamed) {
  const Mlp mlp = make_mlp({2, 2, 2});
  Declaration declaration;
  try {
    partition(mlp.program, AbstractMesh::parse("X=2"), declaration);
    FAIL() << "partitioned without layouts";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "input In[B, D] has no declared sharding");
  }
  const ArrayId in = mlp.program.inputs[0];
  declaration.layouts[in] = {{{"X"}, {"X"}}, {}, ReduceOp::sum};
  EXPECT_THROW(partition(mlp.program, AbstractMesh::parse("X=2"), declaration), UsageError);
}

}  // namespace
}  // namespace shardline
