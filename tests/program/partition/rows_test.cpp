// Arrays of experts are only partly in use. Conversions between their two leading dims move the rows in use alone, and
// read how many these are before and after.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "program/ir/print.h"
#include "program/ops/dispatch.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/price/estimate.h"
#include "program/price/wire.h"
#include "runtime/base/check.h"
#include "tests/program/prices.h"
#include "tests/program/programs.h"
#include "tests/program/simulator.h"

namespace shardline {
namespace {

TrainingStep step_with_experts(bool divides, Remat remat = Remat::none) {
  TransformerConfig config = small_config(divides, false, 2);
  config.experts = {.count = divides ? 4 : 5, .chosen = 2, .balance = 0.1};
  BatchShape batch = small_batch(divides);
  batch.capacity = divides ? 0.75 : 0;
  AdamW options;
  return make_training_step(config, batch, options, {}, {.remat = remat});
}

/// True if the step exchanges the two leading dims of an array of experts.
bool exchanges_experts(const RankProgram& program, const Step& step) {
  const std::vector<std::string>& dims = program.array_of(step.results.at(0)).dims;
  return step.kind == StepKind::all_to_all && dims.size() == 4 && dims[0] == "E" && dims[1] == "B" && dims[2] == "C" &&
         step.from_dim <= 1 && step.to_dim <= 1;
}

/// The conversions that move rows in use.
std::vector<Step*> rows_steps(RankProgram& program) {
  std::vector<Step*> steps;
  for (Step& step : program.steps) {
    if (moves_rows(step)) steps.push_back(&step);
  }
  return steps;
}

TEST(RowsInUse, AreAllThatMovesBetweenExpertsAndSequences) {
  struct Case {
    const char* mesh;
    const char* strategy;
    bool divides;
    Remat remat;
  };
  for (const Case& each :
       {Case{"X=2", "ep=X", true, Remat::none}, Case{"X=3", "ep=X", false, Remat::block},
        Case{"X=2,Y=2", "cp=X,ep=Y", true, Remat::none}, Case{"X=2,Y=2", "fsdp=X,ep_fsdp=Y", false, Remat::matmuls}}) {
    const Program whole = step_with_experts(each.divides, each.remat).model.program;
    const RankProgram program = partitioned(whole, each.mesh, each.strategy);
    check(program);
    int exchanges = 0;
    for (const Step& step : program.steps) {
      const bool exchange = exchanges_experts(program, step);
      const std::string text = to_string(program, step);
      EXPECT_EQ(moves_rows(step), exchange) << text;
      EXPECT_EQ(text.find(", rows in use") != std::string::npos, exchange) << text;
      exchanges += exchange ? 1 : 0;
    }
    EXPECT_GE(exchanges, 2 * 4) << each.strategy << ": in two layers, there and back, forward and backward";
    const Values reference = run_unsharded(whole, random_inputs(whole, 5));
    EXPECT_GT(simulate(program, reference).blocks, 0) << each.strategy;
  }
}

TEST(RowsInUse, ThePrintedFormNamesTheArrayAlone) {
  RankProgram program = partitioned(step_with_experts(true).model.program, "X=2", "ep=X");
  EXPECT_EQ(to_string(program, *rows_steps(program).at(0)),
            "xs1[E_X, B, C, D] = AllToAll_X(xs1[E, B_X, C, D]), rows in use");
}

void expect_refused(const RankProgram& program, const std::string& reason) {
  try {
    check(program);
    ADD_FAILURE() << "accepted without: " << reason;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

TEST(RowsInUse, TheCheckerRefusesOtherCounts) {
  const RankProgram right = partitioned(step_with_experts(true).model.program, "X=2", "ep=X");
  RankProgram wrong = right;
  std::swap(rows_steps(wrong).at(0)->operands[1], rows_steps(wrong).at(0)->operands[2]);
  expect_refused(wrong, "the rows in use are not split as xs1[E, B_X, C, D]");

  wrong = right;
  rows_steps(wrong).at(0)->operands.resize(1);
  expect_refused(wrong, "does not read how many rows are in use");

  wrong = right;
  Step* step = rows_steps(wrong).at(0);
  step->operands[1] = step->operands[0];
  expect_refused(wrong, "counts rows in use by another array");

  wrong = right;
  const ArrayId array = wrong.version(rows_steps(wrong).at(0)->operands[0]).array;
  wrong.program.array(wrong.program.array(array).rows).dtype = DType::i64;
  expect_refused(wrong, "of i64 cannot count the rows in use of xs1");

  wrong = right;
  for (Step& each : wrong.steps) {
    if (communicates(each.kind) && !moves_rows(each)) each.operands.push_back(each.operands[0]);
  }
  expect_refused(wrong, "converts one version into one");
}

TEST(RowsInUse, PricesCountTheExpectedShare) {
  RankProgram program = partitioned(step_with_experts(true).model.program, "X=2", "ep=X");
  const roofline::Hardware prices = bandwidth_bound(program.mesh);
  for (const Step* step : rows_steps(program)) {
    const double share = program.array_of(step->operands[0]).rows_share;
    EXPECT_NEAR(share, 6 * 2 / (4 * 3.0), 1e-12) << "T J / (E C)";
    program.program.array(program.version(step->operands[0]).array).rows_share = 0.3;
    Step full = *step;
    full.operands.resize(1);
    const Moved all = moved(program, full);
    const Moved rows = moved(program, *step);
    EXPECT_EQ(rows.sent, static_cast<Index>(std::ceil(0.3 * static_cast<double>(all.sent))));
    EXPECT_EQ(rows.received, static_cast<Index>(std::ceil(0.3 * static_cast<double>(all.received))));
    EXPECT_EQ(rows.steps, all.steps);
    EXPECT_EQ(estimate(program, *step, prices).wire_bytes.value, static_cast<double>(4 * rows.sent));
    EXPECT_LT(estimate(program, *step, prices).price.comms, estimate(program, full, prices).price.comms);
  }
}

TEST(RowsInUse, PruningKeepsTheirCounts) {
  Program program;
  program.sizes = {{"B", 2}, {"T", 4}, {"D", 3}, {"R", 2}, {"E", 2}, {"J", 1}, {"C", 4}};
  program.outputs = {dispatch_kind().sample(program)};
  EXPECT_GE(program.array(program.outputs[0]).rows, 0);
  const auto makes = [&](const Operation& op) {
    const ArrayId rows = program.array(program.outputs[0]).rows;
    return std::find(op.results.begin(), op.results.end(), rows) != op.results.end();
  };
  prune(program);
  EXPECT_TRUE(std::any_of(program.operations.begin(), program.operations.end(), makes));
}

}  // namespace
}  // namespace shardline
