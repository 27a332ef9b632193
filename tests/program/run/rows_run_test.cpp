// Products of experts whose arrays are partly in use. Every rank computes the rows in use by plain loops and compares.
// The messages of a run have as many bytes as the rows that change their rank.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/shared/arena.h"
#include "program/ops/expert_places.h"
#include "program/ops/expert_product.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/run/execute.h"
#include "runtime/base/counter_rng.h"
#include "runtime/layout/blocks.h"
#include "runtime/mesh/dist_tensor.h"
#include "runtime/mpi/communicator.h"
#include "runtime/trace/recording.h"
#include "tests/program/prices.h"

namespace shardline {
namespace {

constexpr Index kExperts = 5, kSequences = 3, kRoom = 4, kIn = 2, kOut = 3;

Index taken_of(Index expert, Index sequence) {
  return CounterRng(3, "taken").below(expert * kSequences + sequence, kRoom + 1);
}
double x_of(Index i) { return static_cast<double>(CounterRng(3, "x").below(i, 17)) - 8; }
double w_of(Index i) { return static_cast<double>(CounterRng(3, "w").below(i, 17)) - 8; }

/// ys[E, B, C, F] = xs[E, B, C, D] W[E, D, F], where taken[E, B] counts the rows in use.
Program products() {
  Program p;
  p.sizes = {{"E", kExperts}, {"B", kSequences}, {"C", kRoom}, {"D", kIn}, {"F", kOut}, {"T", 5}, {"J", 2}};
  p.dtype = DType::f64;
  const ArrayId xs = p.add_input("xs", {"E", "B", "C", "D"}, Role::activation);
  const ArrayId w = p.add_input("W", {"E", "D", "F"}, Role::parameter);
  const ArrayId taken = p.add_input("taken", {"E", "B"}, Role::tokens);
  set_taken(p, xs, taken);
  p.outputs = {expert_product(p, "ys", xs, w, taken)};
  return p;
}

/// Sequences are split over X where arrays rest, experts in the product. Y splits the rows of a cell, or nothing.
RankProgram partitioned(const AbstractMesh& mesh, bool splits_rows) {
  const Program p = products();
  const Axes rows = splits_rows ? Axes{"Y"} : Axes{};
  const Sharding rests{.dims = {{}, {"X"}, rows, {}}, .unreduced = {}};
  const std::map<ArrayId, Sharding> layouts{{p.find("xs"), rests},
                                            {p.find("ys"), rests},
                                            {p.find("W"), {.dims = {{"X"}, {}, {}}, .unreduced = {}}},
                                            {p.find("taken"), {.dims = {{}, {"X"}}, .unreduced = {}}}};
  RankProgram program = partition(p, mesh, {.layouts = layouts, .work = {{"X", {"E"}}, {"Y", {"C"}}}, .policy = {}});
  check(program);
  return program;
}

void set_inputs(Executor& executor, const Mesh& mesh) {
  const RankProgram& program = executor.compiled().program();
  const auto spec = [&](ArrayId id) {
    const Array& array = program.program.array(id);
    return ArraySpec{array.name, array.dims, array.shape, program.declared.at(id), array.dtype};
  };
  const auto x = [](Index i) {
    const bool used = i / kIn % kRoom < taken_of(i / (kSequences * kRoom * kIn), i / (kRoom * kIn) % kSequences);
    return used ? x_of(i) : std::numeric_limits<double>::quiet_NaN();
  };
  const auto taken = [](Index i) { return static_cast<double>(taken_of(i / kSequences, i % kSequences)); };
  const Program& p = program.program;
  executor.set(p.find("xs"), DistTensor::make(mesh, spec(p.find("xs")), x).local());
  executor.set(p.find("W"), DistTensor::make(mesh, spec(p.find("W")), w_of).local());
  executor.set(p.find("taken"), DistTensor::make(mesh, spec(p.find("taken")), taken).local());
}

double expected(Index e, Index b, Index c, Index f) {
  double sum = 0;
  for (Index d = 0; d < kIn; ++d) {
    sum += x_of(((e * kSequences + b) * kRoom + c) * kIn + d) * w_of((e * kIn + d) * kOut + f);
  }
  return sum;
}

/// Compares the rows in use of this rank's block of ys. Integers: the sums are exact.
void expect_products(const Executor& executor, const Mesh& mesh) {
  const RankProgram& program = executor.compiled().program();
  const ArrayId ys = program.program.find("ys");
  const std::vector<Range> own =
      box(program.program.array(ys).shape, program.declared.at(ys), mesh.axes(), mesh.rank());
  const Tensor& block = executor.get(ys);
  for (Index i = 0; i < block.size(); ++i) {
    const Index f = i % kOut;
    const Index c = own[2].begin + i / kOut % own[2].size();
    const Index b = own[1].begin + i / kOut / own[2].size() % own[1].size();
    const Index e = own[0].begin + i / kOut / own[2].size() / own[1].size();
    if (c >= taken_of(e, b)) continue;
    ASSERT_EQ(block.view<double>()[i], expected(e, b, c, f)) << e << " " << b << " " << c;
  }
}

/// The bytes of the messages that this rank sent in the last run for conversions that move rows in use.
Index rows_sent(const Recording& recording, const RankProgram& program) {
  Index bytes = 0;
  for (const Message& message : recording.runs().back().messages) {
    const Step& step = program.steps.at(static_cast<std::size_t>(message.collective.label));
    if (message.sends && moves_rows(step)) bytes += message.bytes;
  }
  return bytes;
}

/// The bytes of the rows in use that change their rank on the way to the experts and back: counted over all ranks.
Index rows_to_move(Index positions) {
  Index rows = 0;
  for (Index p = 0; p < positions; ++p) {
    const Range experts = block(kExperts, positions, p);
    const Range sequences = block(kSequences, positions, p);
    for (Index e = experts.begin; e < experts.end; ++e) {
      for (Index b = 0; b < kSequences; ++b) {
        if (b < sequences.begin || b >= sequences.end) rows += taken_of(e, b);
      }
    }
  }
  return rows * (kIn + kOut) * size_of(DType::f64);
}

TEST(RowsInUse, MoveToTheExpertsAndBack) {
  const Index ranks = mpi::Communicator::world().size();
  const AbstractMesh two =
      ranks % 2 == 0 ? AbstractMesh({{"X", ranks / 2}, {"Y", 2}}) : AbstractMesh({{"X", ranks}, {"Y", 1}});
  for (const bool splits_rows : {false, true}) {
    const Mesh mesh(splits_rows ? two : AbstractMesh({{"X", ranks}}), mpi::Communicator::world());
    for (const bool shared : {false, true}) {
      for (const bool overlaps : {false, true}) {
        collectives::Engine engine(mesh);
        const std::string obstacle = shared ? collectives::give_arena(engine, Index{1} << 20) : "";
        ASSERT_EQ(obstacle, "");
        roofline::Hardware prices = bandwidth_bound(mesh.axes());
        for (auto& [axis, link] : prices.links) link.frees_cores = overlaps;
        ScheduleOptions options;
        options.overlap = overlaps;
        const auto compiled = compile(partitioned(mesh.axes(), splits_rows), {.scheduling = options, .prices = prices});
        const auto& steps = compiled->program().steps;
        const auto exchanges = std::count_if(steps.begin(), steps.end(), moves_rows);
        EXPECT_EQ(exchanges, mesh.axes().size("X") > 1 ? 2 : 0);
        Executor executor(compiled, engine);
        Recording recording({});
        executor.set_recording(&recording);
        for (int run = 0; run < 3; ++run) {
          set_inputs(executor, mesh);
          executor.run();
          expect_products(executor, mesh);
        }
        if (shared) continue;  // without messages
        const double sent = static_cast<double>(rows_sent(recording, compiled->program()));
        EXPECT_EQ(mesh.comm().sum(sent), static_cast<double>(rows_to_move(mesh.axes().size("X"))));
      }
    }
  }
}

}  // namespace
}  // namespace shardline
