#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "program/ir/print.h"
#include "program/ops/einsum.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "runtime/layout/notation.h"
#include "tests/program/prices.h"
#include "tests/program/scale.h"
#include "tests/program/simulator.h"

/// C[I,K] = A[I,J] B[J,K] for every pair of shardings and every wanted result.
namespace shardline {
namespace {

struct ProductSizes {
  Index i = 0;
  Index j = 0;
  Index k = 0;
};

/// Every sharding of an array of two dims. Each axis shards a dim, in every order, shards none, or (`owed`) is
/// unreduced.
std::vector<Sharding> all_shardings(const AbstractMesh& mesh, bool owed) {
  std::vector<Sharding> shardings{Sharding::replicated(2)};
  for (const Axis& axis : mesh.axes()) {
    std::vector<Sharding> more;
    for (const Sharding& sharding : shardings) {
      more.push_back(sharding);
      for (std::size_t d = 0; d < 2; ++d) {
        for (std::size_t place = 0; place <= sharding.dims[d].size(); ++place) {
          Sharding finer = sharding;
          finer.dims[d].insert(finer.dims[d].begin() + static_cast<std::ptrdiff_t>(place), axis);
          more.push_back(finer);
        }
      }
      if (!owed) continue;
      more.push_back(sharding);
      more.back().unreduced.push_back(axis);
    }
    shardings = std::move(more);
  }
  return shardings;
}

/// One product, its values, and its layouts.
class Product {
 public:
  Product(const AbstractMesh& mesh, const ProductSizes& sizes) : mesh_(mesh) {
    program_.sizes = {{"I", sizes.i}, {"J", sizes.j}, {"K", sizes.k}};
    a_ = program_.add_input("A", {"I", "J"}, Role::activation);
    b_ = program_.add_input("B", {"J", "K"}, Role::activation);
    c_ = einsum(program_, "C", {a_, b_}, {"I", "K"});
    program_.outputs = {c_};
    reference_ = run_unsharded(program_, random_inputs(program_, 1));
  }

  std::vector<Candidate> candidates(const Sharding& a, const Sharding& b, const Sharding& c,
                                    const roofline::Hardware& hardware) const {
    Declaration declaration;
    declaration.layouts = {{a_, a}, {b_, b}, {c_, c}};
    return partition_all(program_, mesh_, declaration, hardware);
  }

  /// Checks and simulates.
  void expect_right(const RankProgram& program) const {
    ASSERT_NO_THROW(check(program)) << text(program);
    ASSERT_NO_THROW(simulate(program, reference_)) << text(program);
    ASSERT_EQ(program.version(program.finals.at(c_)).sharding, program.declared.at(c_)) << text(program);
  }

  static std::string text(const RankProgram& program) {
    std::string result = program.mesh.to_string();
    for (const std::string& line : lines(program)) result += '\n' + line;
    return result;
  }

 private:
  AbstractMesh mesh_;
  Program program_;
  ArrayId a_ = -1;
  ArrayId b_ = -1;
  ArrayId c_ = -1;
  Values reference_;
};

/// The number of triples of shardings over `mesh`. Checks the best candidate of each. Prices alternate between
/// bandwidth and latency. Checks all candidates of every `sample`-th triple.
Index try_all(const std::string& mesh_text, const ProductSizes& sizes, bool owed, Index sample, Index stride = 1) {
  const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
  const Product product(mesh, sizes);
  const std::vector<Sharding> shardings = all_shardings(mesh, owed);
  const std::array prices{bandwidth_bound(mesh), latency_bound(mesh)};
  Index triples = 0;
  for (const Sharding& a : shardings) {
    for (const Sharding& b : shardings) {
      for (const Sharding& c : shardings) {
        if (++triples % stride != 0) continue;
        for (const roofline::Hardware& hardware : prices) {
          const std::vector<Candidate> candidates = product.candidates(a, b, c, hardware);
          EXPECT_FALSE(candidates.empty());
          if (candidates.empty()) return triples;
          const std::size_t tried = triples % sample == 0 ? candidates.size() : 1;
          for (std::size_t i = 0; i < tried; ++i) product.expect_right(candidates[i].program);
          if (::testing::Test::HasFatalFailure()) return triples;
        }
      }
    }
  }
  return triples;
}

/// The best way to run a product of square matrices over {X:2}.
std::vector<std::string> best(const std::string& a, const std::string& b, const std::string& c) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2");
  const Product product(mesh, {8, 8, 8});
  const auto laid_out = [](const std::string& text) { return parse_array(text).sharding; };
  return lines(product.candidates(laid_out(a), laid_out(b), laid_out(c), bandwidth_bound(mesh)).at(0).program);
}

/// The four cases of book section 3.
TEST(Pairs, TheFourCasesOfTheBook) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(best("A[I_X, J]", "B[J, K]", "C[I_X, K]"), (Lines{"C[I_X, K] = A[I_X, J] *_J B[J, K]"}));
  EXPECT_EQ(best("A[I, J_X]", "B[J, K]", "C[I, K]"),
            (Lines{"A[I, J] = AllGather_X(A[I, J_X])", "C[I, K] = A[I, J] *_J B[J, K]"}));
  EXPECT_EQ(best("A[I, J_X]", "B[J_X, K]", "C[I, K]"),
            (Lines{"C[I, K]{U_X} = A[I, J_X] *_J B[J_X, K]", "C[I, K] = AllReduce_X(C[I, K]{U_X})"}));
  EXPECT_EQ(best("A[I, J_X]", "B[J_X, K]", "C[I, K_X]"),
            (Lines{"C[I, K]{U_X} = A[I, J_X] *_J B[J_X, K]", "C[I, K_X] = ReduceScatter_X(C[I, K]{U_X})"}));
  EXPECT_EQ(best("A[I_X, J]", "B[J, K_X]", "C[I, K_X]"),
            (Lines{"A[I, J] = AllGather_X(A[I_X, J])", "C[I, K_X] = A[I, J] *_J B[J, K_X]"}));
  EXPECT_EQ(best("A[I_X, J]", "B[J, K_X]", "C[I_X, K]"),
            (Lines{"B[J, K] = AllGather_X(B[J, K_X])", "C[I_X, K] = A[I_X, J] *_J B[J, K]"}));
}

/// If only the wire and then FLOPs cost, fewest bytes come first, then fewest FLOPs on the busiest rank.
TEST(Pairs, CandidatesAreRanked) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=2");
  const Product product(mesh, {5, 3, 2});
  for (const Sharding& sharding : all_shardings(mesh, false)) {
    const std::vector<Candidate> candidates =
        product.candidates(sharding, Sharding::replicated(2), sharding, bandwidth_bound(mesh));
    ASSERT_GE(candidates.size(), 10U);
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      EXPECT_LE(candidates[i - 1].price.wire_bytes, candidates[i].price.wire_bytes);
      EXPECT_FALSE(cheaper(candidates[i].price, candidates[i - 1].price));
    }
  }
}

TEST(Pairs, EveryPairOverTwoAxes) { EXPECT_EQ(try_all("X=2,Y=2", {4, 8, 4}, false, 20, kFewer), 1331); }

TEST(Pairs, EveryPairOverTwoAxesThatDivideNothing) {
  EXPECT_EQ(try_all("X=2,Y=2", {5, 3, 2}, false, 20, kFewer), 1331);
}

TEST(Pairs, EveryPairOverOneAxisOwedOnesToo) { EXPECT_EQ(try_all("X=3", {5, 7, 11}, true, 1), 64); }

TEST(Pairs, OwedPairsOverTwoAxes) { EXPECT_EQ(try_all("X=2,Y=2", {5, 3, 2}, true, 97, 19 * kFewer), 5832); }

TEST(Pairs, UnevenAxes) {
  EXPECT_EQ(try_all("X=2,Y=3", {5, 7, 11}, false, 50, 5 * kFewer), 1331);
  EXPECT_EQ(try_all("X=3,Y=2", {3, 1, 2}, false, 50, 5 * kFewer), 1331);
}

}  // namespace
}  // namespace shardline
