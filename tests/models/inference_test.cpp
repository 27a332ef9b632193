// The memory of a model that continues texts. The tests of the command test the logits (tests/tools).

#include "models/generation/inference.h"

#include <gtest/gtest.h>

#include "runtime/base/check.h"

namespace shardline {
namespace {

const AbstractMesh kMesh = AbstractMesh::parse("X=2");

InferencePlan plan(Index vocab, Index window, DType dtype) {
  TransformerConfig config = tiny_config();
  config.vocab = vocab;
  return {config, {{"X", AxisRole::parse("tp")}}, kMesh, window, dtype};
}

TEST(Inference, PlansWhatItCanDo) {
  EXPECT_THROW(plan(256, 0, DType::f32), Error);
  EXPECT_THROW(plan(256, 8, DType::bf16), Error);
  EXPECT_EQ(plan(256, 8, DType::f64).dtype(), DType::f64);
}

/// Weights are sharded by half. Loading makes a block of one beside them, and copies a part of it. The rest is small.
TEST(Inference, MemoryIsThatOfItsPartAndABlockOfAParameter) {
  const InferencePlan made = plan(256, 8, DType::f32);
  double whole = 0;
  double largest = 0;
  for (const ModelParameter& parameter : made.model().parameters) {
    const auto elements = static_cast<double>(element_count(made.model().program.array(parameter.array).shape));
    whole += elements;
    largest = std::max(largest, elements);
  }
  for (const Index rank : {0, 1}) {
    const double loading = (2 * 4 + 3 * 8) * largest / 2;  // all of it is one part
    EXPECT_GT(made.memory(rank), Bytes(4 * whole / 2 + loading));
    EXPECT_LT(made.memory(rank), Bytes(4 * whole * 0.6 + loading));
  }
}

}  // namespace
}  // namespace shardline
