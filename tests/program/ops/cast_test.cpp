// Casts between floating-point types: values, types of gradients, bytes and refusals.

#include "program/ops/cast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "program/ir/print.h"
#include "program/ir/rank_program.h"
#include "program/ops/run_phase.h"
#include "program/partition/partition.h"
#include "program/transform/differentiate.h"
#include "tests/program/prices.h"

namespace shardline {
namespace {

Program matrix(DType dtype) {
  Program program;
  program.dtype = dtype;
  program.sizes = {{"I", 2}, {"J", 4}};
  program.add_input("x", {"I", "J"}, Role::activation);
  return program;
}

/// The value of one element after a cast.
double after(double value, DType from, DType to) {
  Program program = matrix(from);
  const ArrayId y = cast(program, "y", 0, to);
  const Shape one{1, 1};
  Tensor wide(DType::f64, one);
  wide.view<double>()[0] = value;
  const Tensor in = wide.as(from);
  Tensor out(program.array(y).dtype, one);
  run_phase(program, program.operations[0], 0, {{0, 1}, {0, 1}}, {&in}, {&out});
  return out.as(DType::f64).view<double>()[0];
}

TEST(Cast, RoundsToNearestTiesToEven) {
  for (const DType type : {DType::f32, DType::f64, DType::bf16}) {
    EXPECT_EQ(after(1.5, type, type), 1.5);
    for (const DType to : {DType::f32, DType::f64, DType::bf16}) EXPECT_EQ(after(-0.375, type, to), -0.375);
  }
  // bf16 has 8 bits: the step after 1 is 1/128.
  for (const DType from : {DType::f32, DType::f64}) {
    EXPECT_EQ(after(1 + 1.0 / 256, from, DType::bf16), 1);
    EXPECT_EQ(after(1 + 3.0 / 256, from, DType::bf16), 1 + 2.0 / 128);
    EXPECT_EQ(after(1 + 1.0 / 256 + 1.0 / 65536, from, DType::bf16), 1 + 1.0 / 128);
    EXPECT_TRUE(std::isinf(after(3.4e38, from, DType::bf16)));
    EXPECT_TRUE(std::isnan(after(std::numeric_limits<double>::quiet_NaN(), from, DType::bf16)));
  }
  EXPECT_EQ(after(1 + std::ldexp(1, -24), DType::f64, DType::f32), 1);
  EXPECT_EQ(after(1 + std::ldexp(3, -24), DType::f64, DType::f32), 1 + std::ldexp(1, -22));
}

/// y = (x as bf16) used twice: the gradient comes back in the type of x, whatever type it had on the way.
TEST(Cast, GradientsHaveTheTypeOfTheirArray) {
  Program program = matrix(DType::f32);
  const ArrayId y = cast(program, "y", 0, DType::bf16);
  const ArrayId z = cast(program, "z", y, DType::f32);
  const ArrayId seed = program.add_input("dz", {"I", "J"}, Role::gradient);
  program.array(seed).primal = z;
  const std::map<ArrayId, ArrayId> gradients = differentiate(program, {{z, seed}}, {y, 0});
  EXPECT_EQ(program.array(gradients.at(y)).dtype, DType::bf16);
  EXPECT_EQ(program.array(gradients.at(0)).dtype, DType::f32);
}

/// The bytes of an array follow from its type alone: in memory, on the wire and in the cost of the cast.
TEST(Cast, HalvesTheBytes) {
  Program program = matrix(DType::f32);
  const ArrayId y = cast(program, "y", 0, DType::bf16);
  program.outputs = {y};
  EXPECT_EQ(phase_cost(program, program.operations[0], 0, {{0, 2}, {0, 4}}).bytes, Bytes(2 * 4 * (4 + 2)));
  const AbstractMesh mesh = AbstractMesh::parse("X=2");
  const Declaration declaration{
      .layouts = {{0, Sharding{.dims = {{"X"}, {}}, .unreduced = {}}}, {y, Sharding::replicated(2)}},
      .work = {},
      .policy = {}};
  const RankProgram best = partition_all(program, mesh, declaration, bandwidth_bound(mesh)).at(0).program;
  EXPECT_EQ(lines(best),
            (std::vector<std::string>{"y[I_X, J] = cast(x[I_X, J], bf16)", "y[I, J] = AllGather_X(y[I_X, J])"}));
  EXPECT_EQ(local_bytes(best, best.inputs.at(0), 0), Bytes(4 * 4));
  EXPECT_EQ(local_bytes(best, best.finals.at(y), 1), Bytes(8 * 2));
}

TEST(Cast, RefusesIntegers) {
  Program program = matrix(DType::f32);
  EXPECT_THROW(cast(program, "y", 0, DType::i32), UsageError);
  const ArrayId ids = program.add_input("ids", {"I"}, Role::tokens);
  EXPECT_THROW(cast(program, "y", ids, DType::f32), UsageError);
}

}  // namespace
}  // namespace shardline
