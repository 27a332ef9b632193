#include <gtest/gtest.h>

#include <algorithm>

#include "models/architecture/mlp.h"
#include "models/strategy/strategies.h"
#include "program/ir/print.h"
#include "program/partition/check.h"
#include "tests/program/simulator.h"

/// The partitioner derives the algorithms of book section 5.1, line by line.
namespace shardline {
namespace {

using Lines = std::vector<std::string>;

struct Listing {
  std::string strategy;
  std::string mesh;
  Lines lines;
};

const Listing kDataParallel = {"dp",
                               "X=2",
                               {
                                   "Tmp[B_X, F] = In[B_X, D] *_D W_in[D, F]",
                                   "Out[B_X, D] = Tmp[B_X, F] *_F W_out[F, D]",
                                   "dW_out[F, D]{U_X} = Tmp[B_X, F] *_B dOut[B_X, D]",
                                   "dW_out[F, D] = AllReduce_X(dW_out[F, D]{U_X})",
                                   "dTmp[B_X, F] = dOut[B_X, D] *_D W_out[F, D]",
                                   "dW_in[D, F]{U_X} = In[B_X, D] *_B dTmp[B_X, F]",
                                   "dW_in[D, F] = AllReduce_X(dW_in[D, F]{U_X})",
                                   "dIn[B_X, D] = dTmp[B_X, F] *_F W_in[D, F]",
                               }};

const Listing kFsdp = {"fsdp",
                       "X=2",
                       {
                           "W_in[D, F] = AllGather_X(W_in[D_X, F])",
                           "Tmp[B_X, F] = In[B_X, D] *_D W_in[D, F]",
                           "W_out[F, D] = AllGather_X(W_out[F, D_X])",
                           "Out[B_X, D] = Tmp[B_X, F] *_F W_out[F, D]",
                           "dW_out[F, D]{U_X} = Tmp[B_X, F] *_B dOut[B_X, D]",
                           "dW_out[F, D_X] = ReduceScatter_X(dW_out[F, D]{U_X})",
                           "W_out[F, D] = AllGather_X(W_out[F, D_X])",
                           "dTmp[B_X, F] = dOut[B_X, D] *_D W_out[F, D]",
                           "dW_in[D, F]{U_X} = In[B_X, D] *_B dTmp[B_X, F]",
                           "dW_in[D_X, F] = ReduceScatter_X(dW_in[D, F]{U_X})",
                           "W_in[D, F] = AllGather_X(W_in[D_X, F])",
                           "dIn[B_X, D] = dTmp[B_X, F] *_F W_in[D, F]",
                       }};

const Listing kTensorParallel = {"tp",
                                 "Y=2",
                                 {
                                     "In[B, D] = AllGather_Y(In[B, D_Y])",
                                     "Tmp[B, F_Y] = In[B, D] *_D W_in[D, F_Y]",
                                     "Out[B, D]{U_Y} = Tmp[B, F_Y] *_F W_out[F_Y, D]",
                                     "Out[B, D_Y] = ReduceScatter_Y(Out[B, D]{U_Y})",
                                     "dOut[B, D] = AllGather_Y(dOut[B, D_Y])",
                                     "dW_out[F_Y, D] = Tmp[B, F_Y] *_B dOut[B, D]",
                                     "dTmp[B, F_Y] = dOut[B, D] *_D W_out[F_Y, D]",
                                     "In[B, D] = AllGather_Y(In[B, D_Y])",
                                     "dW_in[D, F_Y] = In[B, D] *_B dTmp[B, F_Y]",
                                     "dIn[B, D]{U_Y} = dTmp[B, F_Y] *_F W_in[D, F_Y]",
                                     "dIn[B, D_Y] = ReduceScatter_Y(dIn[B, D]{U_Y})",
                                 }};

const Listing kFsdpAndTensor = {"fsdp+tp",
                                "X=2,Y=2",
                                {
                                    "In[B_X, D] = AllGather_Y(In[B_X, D_Y])",
                                    "W_in[D, F_Y] = AllGather_X(W_in[D_X, F_Y])",
                                    "Tmp[B_X, F_Y] = In[B_X, D] *_D W_in[D, F_Y]",
                                    "W_out[F_Y, D] = AllGather_X(W_out[F_Y, D_X])",
                                    "Out[B_X, D]{U_Y} = Tmp[B_X, F_Y] *_F W_out[F_Y, D]",
                                    "Out[B_X, D_Y] = ReduceScatter_Y(Out[B_X, D]{U_Y})",
                                    "dOut[B_X, D] = AllGather_Y(dOut[B_X, D_Y])",
                                    "dW_out[F_Y, D]{U_X} = Tmp[B_X, F_Y] *_B dOut[B_X, D]",
                                    "dW_out[F_Y, D_X] = ReduceScatter_X(dW_out[F_Y, D]{U_X})",
                                    "W_out[F_Y, D] = AllGather_X(W_out[F_Y, D_X])",
                                    "dTmp[B_X, F_Y] = dOut[B_X, D] *_D W_out[F_Y, D]",
                                    "In[B_X, D] = AllGather_Y(In[B_X, D_Y])",
                                    "dW_in[D, F_Y]{U_X} = In[B_X, D] *_B dTmp[B_X, F_Y]",
                                    "dW_in[D_X, F_Y] = ReduceScatter_X(dW_in[D, F_Y]{U_X})",
                                    "W_in[D, F_Y] = AllGather_X(W_in[D_X, F_Y])",
                                    "dIn[B_X, D]{U_Y} = dTmp[B_X, F_Y] *_F W_in[D, F_Y]",
                                    "dIn[B_X, D_Y] = ReduceScatter_Y(dIn[B_X, D]{U_Y})",
                                }};

const std::vector<Listing> kListings = {kDataParallel, kFsdp, kTensorParallel, kFsdpAndTensor};

RankProgram partitioned(const Mlp& mlp, const AbstractMesh& mesh, const std::string& strategy, const Policy& policy) {
  return partition(mlp.program, mesh, declare(mlp.program, mesh, parse_strategy(strategy, mesh), policy));
}

Lines derived(const Listing& listing, const Policy& policy) {
  const AbstractMesh mesh = AbstractMesh::parse(listing.mesh);
  return lines(partitioned(make_mlp({8, 6, 10}), mesh, listing.strategy, policy));
}

TEST(Book, GatheringAgainGivesTheListings) {
  for (const Listing& listing : kListings) {
    EXPECT_EQ(derived(listing, {Reuse::regather, Reuse::regather}), listing.lines) << listing.strategy;
  }
}

TEST(Book, KeepingActivationsDropsOnlyTheSkippableGather) {
  for (const Listing& listing : kListings) {
    Lines expected;
    bool gathered = false;
    for (const std::string& line : listing.lines) {
      const bool gathers_in = line.rfind("In[", 0) == 0 && line.find("AllGather_Y(In[") != std::string::npos;
      if (!gathers_in || !gathered) expected.push_back(line);
      gathered = gathered || gathers_in;
    }
    const bool is_tensor = listing.mesh.find('Y') != std::string::npos;
    EXPECT_EQ(listing.lines.size() - expected.size(), is_tensor ? 1U : 0U) << listing.strategy;
    EXPECT_EQ(derived(listing, {Reuse::regather, Reuse::keep}), expected) << listing.strategy;
  }
}

TEST(Book, KeepingParametersDropsTheGathersOfTheBackwardPass) {
  for (const Listing& listing : {kFsdp, kFsdpAndTensor}) {
    const Lines kept = derived(listing, {Reuse::keep, Reuse::regather});
    const auto gathers =
        std::count_if(kept.begin(), kept.end(), [](const std::string& line) { return line.rfind("W_", 0) == 0; });
    EXPECT_EQ(gathers, 2) << listing.strategy;
    EXPECT_EQ(kept.size(), listing.lines.size() - 2) << listing.strategy;
  }
}

TEST(Book, TheMajorAxisIsTheFirstOfTheMesh) {
  // Pure FSDP over both axes of a mesh: parameters are sharded D_XY, and one AllGather over both axes gathers
  // them.
  const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=2");
  const Lines got = lines(partitioned(make_mlp({8, 6, 10}), mesh, "fsdp=Y,fsdp=X", {}));
  EXPECT_EQ(got.at(0), "W_in[D, F] = AllGather_XY(W_in[D_XY, F])");
  EXPECT_EQ(got.at(1), "Tmp[B_XY, F] = In[B_XY, D] *_D W_in[D, F]");
  EXPECT_EQ(got.at(5), "dW_out[F, D_XY] = ReduceScatter_XY(dW_out[F, D]{U_XY})");
}

TEST(Book, AxesOfSizeOneDropOut) {
  const AbstractMesh one = AbstractMesh::parse("X=1,Y=1");
  for (const std::string& line : lines(partitioned(make_mlp({8, 6, 10}), one, "fsdp+tp", {}))) {
    EXPECT_EQ(line.find('_' + std::string("X")), std::string::npos) << line;
    EXPECT_EQ(line.find('('), std::string::npos) << line;
  }
  const AbstractMesh column = AbstractMesh::parse("X=1,Y=2");
  EXPECT_EQ(lines(partitioned(make_mlp({8, 6, 10}), column, "fsdp+tp", {Reuse::regather, Reuse::regather})),
            kTensorParallel.lines);
}

/// Values and gradients on meshes that divide no dim, with empty shards, under every strategy of one or two
/// axes.
TEST(Book, ValuesAndGradientsAreRightOnAllMeshes) {
  Index empty = 0;
  for (const MlpSizes& sizes : {MlpSizes{8, 6, 10}, MlpSizes{5, 7, 11}, MlpSizes{2, 3, 1}, MlpSizes{1, 1, 1}}) {
    const Mlp mlp = make_mlp(sizes);
    const Values reference = run_unsharded(mlp.program, random_inputs(mlp.program, 1));
    for (const char* mesh : {"X=1,Y=1", "X=2,Y=1", "X=3,Y=1", "X=1,Y=4", "X=2,Y=2", "X=3,Y=2", "X=2,Y=3", "X=4,Y=3"}) {
      for (const char* strategy : {"dp=X,dp=Y", "zero1=X,tp=Y", "fsdp=X,zero1=Y", "fsdp=X,tp=Y", "tp=X,fsdp=Y"}) {
        const AbstractMesh m = AbstractMesh::parse(mesh);
        const RankProgram program = partitioned(mlp, m, strategy, {});
        ASSERT_NO_THROW(check(program)) << mesh << ' ' << strategy;
        ASSERT_NO_THROW(empty += simulate(program, reference).empty_blocks) << mesh << ' ' << strategy;
      }
    }
  }
  EXPECT_GT(empty, 0);
}

}  // namespace
}  // namespace shardline
