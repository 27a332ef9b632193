// The check of the result of `shardline matmul`: it must accept the right product and find a wrong one. The
// oracle is a product by plain loops.

#include "tools/product/dense_check.h"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/layout/blocks.h"

namespace shardline::tools {
namespace {

const std::map<std::string, Index> kSizes{{"B", 2}, {"I", 9}, {"J", 530}, {"K", 3}};

class DenseCheck : public testing::Test {
 protected:
  Product make(const std::string& text) const { return make_product(parse_product(text), kSizes, mesh_.axes()); }

  /// Element [b, k, i] of the result of A[B, I, J] * B[B, J, K], from `a` and `b`.
  static double element(const GeneratedOperand& a, const GeneratedOperand& b, Index batch, Index k, Index i) {
    double sum = 0;
    for (Index j = 0; j < 530; ++j) sum += a.value((batch * 9 + i) * 530 + j) * b.value((batch * 530 + j) * 3 + k);
    return sum;
  }

  /// This rank's block of P[B, I, J] * Q[B, J, K] -> R[K, B, I], with this error in one element of rank 0.
  Accuracy check(const std::string& text, double error) const {
    const Product product = make(text);
    const std::vector<GeneratedOperand> operands = generated_operands(product, DType::f64, 3);
    const Sharding& sharding = product.sharding(product.result);
    const DistTensor result =
        DistTensor::make(mesh_, {"R", {"K", "B", "I"}, {3, 2, 9}, sharding, DType::f64}, [&](Index at) {
          return element(operands[0], operands[1], at / 9 % 2, at / 18, at % 9) + (at == 0 ? error : 0);
        });
    return check_against_dense(product, operands, result.local(), mesh_);
  }

  const mpi::Communicator world_ = mpi::Communicator::world();
  const Mesh mesh_{AbstractMesh({{"X", world_.size()}}), world_};
};

const std::vector<std::string> kProducts{
    "P[B, I, J_X] * Q[B, J, K] -> R[K, B, I_X]",
    "P[B, I, J]{U_X} * Q[B, J, K] -> R[K, B, I]",
    "P[B, I, J_X] * Q[B, J_X, K] -> R[K, B, I]{U_X}",
};

TEST_F(DenseCheck, AcceptsTheRightProduct) {
  for (const std::string& text : kProducts) {
    const Accuracy accuracy = check(text, 0);
    EXPECT_LT(accuracy.relative(), 1e-14) << text;
    EXPECT_GT(accuracy.max_value, 1);
  }
}

TEST_F(DenseCheck, SeesOneWrongElementOnEveryRank) {
  for (const std::string& text : kProducts) {
    const Accuracy accuracy = check(text, 1e-6);
    EXPECT_NEAR(accuracy.max_error, 1e-6, 1e-12) << text;
    const double no_number = check(text, std::numeric_limits<double>::quiet_NaN()).max_error;
    EXPECT_EQ(no_number, std::numeric_limits<double>::infinity()) << text;
  }
}

/// P[I, J] * Q[J, K] * S[K, J] -> R[I, J]: the J of S is not the J of P and Q.
TEST_F(DenseCheck, ChainsAreCheckedProductByProduct) {
  const std::map<std::string, Index> sizes{{"I", 5}, {"J", 7}, {"K", 3}};
  const Product product =
      make_product(parse_product("P[I_X, J] * Q[J, K] * S[K, J] -> R[I, J_X]"), sizes, mesh_.axes());
  const std::vector<GeneratedOperand> operands = generated_operands(product, DType::f64, 3);
  const auto value = [&](Index at) {
    double sum = 0;
    for (Index j = 0; j < 7; ++j) {
      for (Index k = 0; k < 3; ++k) {
        sum += operands[0].value(at / 7 * 7 + j) * operands[1].value(j * 3 + k) * operands[2].value(k * 7 + at % 7);
      }
    }
    return sum;
  };
  for (const double error : {0.0, 1e-6}) {
    const DistTensor result =
        DistTensor::make(mesh_, {"R", {"I", "J"}, {5, 7}, product.sharding(product.result), DType::f64},
                         [&](Index at) { return value(at) + (at == 34 ? error : 0); });
    EXPECT_NEAR(check_against_dense(product, operands, result.local(), mesh_).max_error, error, 1e-13);
  }
}

TEST_F(DenseCheck, PartsOfAnOwedOperandSumToItsValue) {
  const Product product = make("P[B, I, J]{U_X} * Q[B, J, K] -> R[K, B, I]");
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const GeneratedOperand a(product, product.operands[0], dtype, 3);
    const Tensor block = a.block(mesh_).as(DType::f64);
    for (Index i = 0; i < block.size(); i += 997) {
      EXPECT_NEAR(world_.sum(block.view<double>()[i]), a.value(i), 1e-15);
      EXPECT_NE(block.view<double>()[i], 0);
    }
  }
}

}  // namespace
}  // namespace shardline::tools
