// Several programs over one state: each finds the values that another left, in the arena or outside.
#include "program/run/state.h"

#include <gtest/gtest.h>

#include "collectives/shared/arena.h"
#include "program/ops/add.h"
#include "program/ops/einsum.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/run/execute.h"
#include "runtime/base/check.h"
#include "runtime/mpi/communicator.h"

namespace shardline {
namespace {

constexpr Index kB = 3;
constexpr Index kD = 7;
constexpr Index kF = 5;

/// Whole numbers, so that every sum is exact.
double weight(Index i) { return static_cast<double>(3 * i % 11 - 4); }

struct Made {
  std::shared_ptr<Compiled> compiled;
  ArrayId x = -1;  ///< an input outside the state; -1: none
  ArrayId out = -1;
};

class StateTest : public testing::Test {
 protected:
  StateTest() : mesh_(AbstractMesh({{"X", mpi::Communicator::world().size()}}), mpi::Communicator::world()) {}

  Program sizes() const {
    Program p;
    p.dtype = DType::f64;
    p.sizes = {{"B", kB}, {"D", kD}, {"F", kF}};
    return p;
  }

  static std::shared_ptr<Compiled> compiled(const Program& p, const AbstractMesh& mesh, Declaration declaration) {
    RankProgram program = partition(p, mesh, declaration);
    check(program);
    return compile(std::move(program), {});
  }

  /// S' = W + W, which does not read S; or S' = S + W.
  Made sum(bool first, const Sharding& sharding) const {
    Program p = sizes();
    const ArrayId w = p.add_input("W", {"D", "F"}, Role::parameter);
    const ArrayId s = p.add_input("S", {"D", "F"}, Role::activation);
    const ArrayId next = add(p, "S'", {first ? w : s, w});
    p.updates = {{s, next}};
    p.outputs = {next};
    return {compiled(p, mesh_.axes(),
                     {.layouts = {{w, sharding}, {s, sharding}, {next, sharding}}, .work = {}, .policy = {}}),
            -1, next};
  }

  /// y[B_X, F] = x[B_X, D] * S[D_X, F]. It gathers S.
  Made gathering() const {
    Program p = sizes();
    const ArrayId x = p.add_input("x", {"B", "D"}, Role::stream);
    const ArrayId s = p.add_input("S", {"D", "F"}, Role::parameter);
    const ArrayId y = einsum(p, "y", {x, s}, {"B", "F"});
    p.outputs = {y};
    const Sharding rows{.dims = {{"X"}, {}}, .unreduced = {}};
    return {
        compiled(p, mesh_.axes(), {.layouts = {{x, rows}, {s, rows}, {y, rows}}, .work = {{"X", {"B"}}}, .policy = {}}),
        x, y};
  }

  /// total[F] = sum of W[D_X, F] over D, on every rank.
  Made total() const {
    Program p = sizes();
    const ArrayId w = p.add_input("W", {"D", "F"}, Role::parameter);
    const ArrayId sums = einsum(p, "total", {w}, {"F"});
    p.outputs = {sums};
    const Sharding rows{.dims = {{"X"}, {}}, .unreduced = {}};
    return {
        compiled(p, mesh_.axes(), {.layouts = {{w, rows}, {sums, Sharding::replicated(1)}}, .work = {}, .policy = {}}),
        -1, sums};
  }

  static std::string error_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  }

  /// S is 2 W after the first program. Every other program adds W.
  void run_all(collectives::Engine& engine) {
    const Made first = sum(true, rows_);
    const Made more = sum(false, rows_);
    const Made reader = gathering();
    State state(engine, plan_state({first.compiled.get(), more.compiled.get(), reader.compiled.get()}));
    Executor begin(first.compiled, state);
    Executor adder(more.compiled, state);
    Executor gather(reader.compiled, state);
    state.fill("W", weight);
    EXPECT_NE(error_of([&] { adder.run(); }).find("array S of the state has no elements yet"), std::string::npos);
    begin.run();
    for (int i = 0; i < 3; ++i) adder.run();
    expect_times_w(state.gather("S"), 5);
    expect_times_w(state.gather("W"), 1);

    const std::byte* place = state.block("S").data();
    const ArraySpec spec{.name = "x", .dims = {"B", "D"}, .shape = {kB, kD}, .sharding = rows_, .dtype = DType::f64};
    const auto ones = [](Index) { return 1.0; };
    gather.set(reader.x, DistTensor::make(mesh_, spec, ones).local());
    gather.run();
    expect_sums(gather.get(reader.out), 5);
    adder.run();
    gather.run();
    expect_sums(gather.get(reader.out), 6);
    if (engine.arena() != nullptr && mesh_.ranks() > 1) {
      EXPECT_TRUE(engine.arena()->contains(state.block("S")));
      EXPECT_FALSE(engine.arena()->contains(state.block("W")));  // no program communicates it
      EXPECT_EQ(state.block("S").data(), place);                 // its place does not change
    }
    begin.run();  // the state exists after a step; this program writes it again first
    expect_times_w(state.gather("S"), 2);
  }

  static void expect_times_w(const Tensor& whole, double factor) {
    for (Index i = 0; i < whole.size(); ++i) EXPECT_EQ(whole.view<double>()[i], factor * weight(i)) << i;
  }

  /// If x is all ones, the rows of y are the column sums of S.
  static void expect_sums(const Tensor& y, double factor) {
    for (Index i = 0; i < y.size(); ++i) {
      double want = 0;
      for (Index d = 0; d < kD; ++d) want += factor * weight(d * kF + i % kF);
      EXPECT_EQ(y.view<double>()[i], want) << i;
    }
  }

  Mesh mesh_;
  Sharding rows_{.dims = {{"X"}, {}}, .unreduced = {}};
};

TEST_F(StateTest, ProgramsReadAndUpdateTheSameArrays) {
  collectives::Engine engine(mesh_);
  run_all(engine);
}

TEST_F(StateTest, TheyDoInTheArenaToo) {
  collectives::Engine engine(mesh_);
  const Made first = sum(true, rows_);
  const Made reader = gathering();
  const StatePlan plan = plan_state({first.compiled.get(), reader.compiled.get()});
  if (mesh_.ranks() > 1) {
    EXPECT_TRUE(plan.items.at("S").shared);
    EXPECT_FALSE(plan.items.at("W").shared);
    EXPECT_EQ(plan.room, reader.compiled->arena().bytes);
  }
  ASSERT_EQ(collectives::give_arena(engine, plan.shared_bytes()), "");
  run_all(engine);
}

/// The next program that uses this memory overwrites it.
TEST_F(StateTest, AnOutputInTheRoomIsGoneAfterAnotherProgram) {
  collectives::Engine engine(mesh_);
  const Made sums = total();
  const Made first = sum(true, rows_);
  const StatePlan plan = plan_state({sums.compiled.get(), first.compiled.get()});
  ASSERT_EQ(collectives::give_arena(engine, plan.shared_bytes() + 64), "");
  State state(engine, plan);
  state.fill("W", weight);
  Executor adds(sums.compiled, state);
  Executor other(first.compiled, state);
  adds.run();
  expect_sums(adds.get(sums.out), 1);
  other.run();
  if (mesh_.ranks() > 1) {
    EXPECT_NE(error_of([&] { adds.get(sums.out); }).find("total is gone"), std::string::npos);
  }
  adds.run();
  expect_sums(adds.get(sums.out), 1);
  State borrower(engine, plan_state({first.compiled.get()}), state, {"W"});
  Executor(first.compiled, borrower).run();
  if (mesh_.ranks() > 1) {
    EXPECT_NE(error_of([&] { adds.get(sums.out); }).find("total is gone"), std::string::npos) << "a lent room";
  }
}

/// Only what is not lent is a state's own.
TEST_F(StateTest, LendsArraysWithoutACopy) {
  collectives::Engine engine(mesh_);
  const Made first = sum(true, rows_);
  const StatePlan plan = plan_state({first.compiled.get()});
  State lender(engine, plan);
  lender.fill("W", weight);
  lender.fill("S", weight);
  State other(engine, plan, lender, {"W"});
  EXPECT_EQ(other.block("W").data(), lender.block("W").data());
  Executor(first.compiled, other).run();
  const Tensor ours = lender.gather("S"), theirs = other.gather("S");
  for (Index i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours.view<double>()[i], weight(i));
    EXPECT_EQ(theirs.view<double>()[i], 2 * weight(i));
  }
  if (mesh_.ranks() == 1) return;
  const StatePlan whole = plan_state({sum(true, Sharding::replicated(2)).compiled.get()});
  EXPECT_NE(error_of([&] { const State unlike(engine, whole, lender, {"W"}); }).find("one that lends to it"),
            std::string::npos);
}

TEST_F(StateTest, DisagreementsNameBothSides) {
  if (mesh_.ranks() == 1) return;
  collectives::Engine engine(mesh_);
  const Made rows = sum(true, rows_);
  const Made whole = sum(true, Sharding::replicated(2));
  const std::string split = "f64 W[D_X, F] of shape [7, 5]";
  const std::string unsplit = "f64 W[D, F] of shape [7, 5]";
  const StatePlan plan = plan_state({rows.compiled.get()});
  State state(engine, plan);
  const std::string of_plans = error_of([&] { plan_state({rows.compiled.get(), whole.compiled.get()}); });
  const std::string of_binding = error_of([&] { const Executor bound(whole.compiled, state); });
  for (const std::string& message : {of_plans, of_binding}) {
    EXPECT_TRUE(message.find(split) != std::string::npos || message.find("S[D_X, F]") != std::string::npos) << message;
    EXPECT_TRUE(message.find(unsplit) != std::string::npos || message.find("S[D, F]") != std::string::npos) << message;
  }
  State none(engine, StatePlan{});
  EXPECT_NE(error_of([&] { const Executor bound(rows.compiled, none); }).find("which has no W"), std::string::npos);
  EXPECT_NE(error_of([&] { none.fill_zeros("W"); }).find("the state has no array W"), std::string::npos);
  EXPECT_NE(error_of([&] { state.set("W", Tensor::zeros(DType::f32, {kD, kF})); }).find(split), std::string::npos);
  Executor bound(rows.compiled, state);
  const ArrayId w = rows.compiled->program().program.find("W");
  EXPECT_NE(error_of([&] { bound.set(w, Tensor()); }).find("input W is found in the state"), std::string::npos);
}

}  // namespace
}  // namespace shardline
