#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "models/architecture/mlp.h"
#include "program/ir/print.h"
#include "program/partition/check.h"
#include "tests/program/random_programs.h"
#include "tests/program/scale.h"
#include "tests/program/simulator.h"

/// Random programs on random meshes: partitions them, checks them, and compares every value on every rank with
/// the whole program.
namespace shardline {
namespace {

/// The result of one random program.
using Trial = std::function<Simulation(Dice&)>;

/// Runs `trial` for seeds 1 to `count`. A failure names its seed. SHARDLINE_SEED=n in the environment runs only
/// seed n.
void for_seeds(int count, const Trial& trial) {
  const char* alone = std::getenv("SHARDLINE_SEED");
  const int first = alone == nullptr ? 1 : std::atoi(alone);
  const int last = alone == nullptr ? std::max(1, count / kFewer) : first;
  Index empty = 0;
  for (int seed = first; seed <= last; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    try {
      empty += trial(dice).empty_blocks;
    } catch (const std::exception& error) {
      FAIL() << "SHARDLINE_SEED=" << seed << ": " << error.what();
    }
  }
  EXPECT_TRUE(empty > 0 || alone != nullptr) << "no rank ever had an empty shard";
}

Simulation run(const Program& program, const AbstractMesh& mesh, const Declaration& declaration) {
  const RankProgram ranks = partition(program, mesh, declaration);
  check(ranks);
  return simulate(ranks, run_unsharded(program, random_inputs(program, 1)));
}

TEST(Fuzz, MlpsAreRight) {
  for_seeds(2000, [](Dice& dice) {
    const AbstractMesh mesh = random_mesh(dice);
    const Strategy strategy = random_strategy(dice, mesh);
    const Index batch = dice.between(1, 9);
    const Index d_model = dice.between(1, 9);
    const Mlp mlp = make_mlp({batch, d_model, dice.between(1, 9)});
    return run(mlp.program, mesh, declare(mlp.program, mesh, strategy, random_policy(dice)));
  });
}

TEST(Fuzz, ChainsAreRight) {
  for_seeds(4000, [](Dice& dice) {
    const AbstractMesh mesh = random_mesh(dice);
    const DeclaredProgram chain = random_chain(dice, mesh);
    return run(chain.program, mesh, chain.declaration);
  });
}

TEST(Fuzz, TransformersAreRight) {
  for_seeds(400, [](Dice& dice) {
    const AbstractMesh mesh = random_mesh(dice);
    const Strategy strategy = random_strategy(dice, mesh);
    const TransformerConfig config = random_config(dice);
    const BatchShape batch{dice.between(1, 4), dice.between(1, 6)};
    AdamW options;
    options.clip_norm = 0.5;
    options.weight_decay = 0.1;
    const TrainingStep step = make_training_step(config, batch, options);
    const Program& program = step.model.program;
    return run(program, mesh, declare(program, mesh, strategy, random_policy(dice)));
  });
}

}  // namespace
}  // namespace shardline
