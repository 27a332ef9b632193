// The oracle of every layout: one rank alone. In one job of five ranks, the first ranks form each mesh in turn. They
// train the same small model in f64. Losses, gradient norms, every parameter and both moments of every gradient must
// agree. This also finds a gradient with a wrong factor, which AdamW itself would hide.

#include "models/parity/parity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "program/timetable/named.h"
#include "tests/models/small_training.h"

namespace shardline {
namespace {

using Fuse = ScheduleOptions::Fuse;

class Parity : public testing::Test {
 protected:
  static const std::map<ParityTask, ParityRun>& references() {
    static const std::map<ParityTask, ParityRun> kRuns = parity_references();
    return kRuns;
  }

  /// Collective over all ranks. Only the ranks of the layout's mesh call `expect`.
  template <class Expect>
  void with_difference(const ParityLayout& layout, const Fault* fault, Expect expect) {
    const ParityRun& wanted = references().at(layout.task);
    on_first(world_, static_cast<int>(layout.mesh.ranks()), [&](const mpi::Communicator& part) {
      SCOPED_TRACE(layout.mesh.to_string() + " " + to_string(layout));
      expect(compare_with_reference(part, layout, wanted, fault));
    });
  }

  mpi::Communicator world_ = mpi::Communicator::world();
};

double largest(const Tensor& array) {
  double most = 0;
  for (const double value : array.view<double>()) most = std::max(most, std::abs(value));
  return most;
}

/// The reference must learn something. A model that does nothing would agree with itself on every mesh.
TEST_F(Parity, TheReferenceMoves) {
  for (const auto& [task, run] : references()) {
    EXPECT_LT(run.steps.back().loss, run.steps.front().loss);
    for (const auto& [name, array] : run.state) EXPECT_GT(largest(array), 0) << name;
  }
}

TEST_F(Parity, EveryPairOfChoices) {
  for (const ParityLayout& layout : paired_layouts(world_.size())) {
    with_difference(layout, nullptr, [](const ParityDifference& difference) {
      EXPECT_LE(difference.loss, kParityTolerance);
      EXPECT_LE(difference.norm, kParityTolerance);
      EXPECT_LE(difference.gradient, kParityTolerance);
      EXPECT_LE(difference.weight, kParityTolerance);
      EXPECT_TRUE(difference.passes());
      EXPECT_FALSE(difference.planted);
    });
  }
}

/// Any number of micro-batches gives what the whole batch gives, in every role.
TEST_F(Parity, MicroBatches) {
  if (world_.size() < 3) GTEST_SKIP() << "3 ranks at least";
  for (const AxisRole& role : training_roles()) {
    for (const Index micro_batches : {1, 2, 4, 8}) {
      const ParityLayout layout{
          .mesh = AbstractMesh::parse("X=3"), .strategy = {{"X", role}}, .form = {.micro_batches = micro_batches}};
      with_difference(layout, nullptr, [](const ParityDifference& difference) { EXPECT_TRUE(difference.passes()); });
    }
  }
}

/// The ZeRO stages give what one rank gives, on every number of ranks. Nothing divides the sizes; two sequences of a
/// micro-batch leave ranks without any.
TEST_F(Parity, ZeroStagesAgree) {
  for (Index ranks = 1; ranks <= world_.size(); ++ranks) {
    for (const char* role : {"dp", "zero1", "zero2", "fsdp"}) {
      for (const Index micro_batches : {1, 4}) {
        for (const ParityTask task : {ParityTask::usual, ParityTask::tied}) {
          const ParityLayout layout{.mesh = AbstractMesh({{"X", ranks}}),
                                    .strategy = {{"X", AxisRole::parse(role)}},
                                    .form = {.micro_batches = micro_batches},
                                    .task = task};
          with_difference(layout, nullptr,
                          [](const ParityDifference& difference) { EXPECT_TRUE(difference.passes()); });
        }
      }
    }
  }
}

/// Beside other roles too. With stages, each micro-batch scatters its part on the stage that has the layer.
TEST_F(Parity, ZeroStagesInProducts) {
  if (world_.size() < 4) GTEST_SKIP() << "4 ranks at least";
  for (const char* strategy : {"zero1=X,tp=Y", "zero2=X,tp=Y", "zero2=X,tp_seq=Y", "tp_g=X,zero2=Y", "pp=X,zero1=Y",
                               "pp=X,zero2=Y", "zero2=X,pp=Y", "zero1=X,zero2=Y", "zero2=X,zero2=Y"}) {
    for (const Index micro_batches : {1, 4}) {
      for (const ParityTask task : {ParityTask::masked, ParityTask::tied}) {
        const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=2");
        const ParityLayout layout{.mesh = mesh,
                                  .strategy = parse_strategy(strategy, mesh),
                                  .form = {.micro_batches = micro_batches},
                                  .task = task};
        with_difference(layout, nullptr, [](const ParityDifference& difference) {
          EXPECT_TRUE(difference.same_bits);
          EXPECT_TRUE(difference.passes());
        });
      }
    }
  }
}

/// Stages change no bit: with every timetable, fewer micro-batches than stages, stages without layers.
TEST_F(Parity, EveryTimetable) {
  for (Index stages = 1; stages <= world_.size(); ++stages) {
    for (const TimetableRow& row : timetable_rows()) {
      for (const Index micro_batches : {1, 2, 8}) {
        for (const ParityTask task : {ParityTask::masked, ParityTask::tied}) {
          const AbstractMesh mesh({{"Z", stages}});
          const ParityLayout layout{.mesh = mesh,
                                    .strategy = {{"Z", AxisRole::parse("pp")}},
                                    .form = {.micro_batches = micro_batches},
                                    .pipeline = {.timetable = std::string(row.name)},
                                    .task = task};
          with_difference(layout, nullptr, [](const ParityDifference& difference) {
            EXPECT_TRUE(difference.same_bits);
            EXPECT_TRUE(difference.passes());
          });
        }
      }
    }
  }
}

/// Also a role with itself: then both axes shard the same dims.
TEST_F(Parity, EveryPairOfRolesOnFourRanks) {
  if (world_.size() < 4) GTEST_SKIP() << "4 ranks at least";
  for (const AxisRole& first : training_roles()) {
    for (const AxisRole& second : training_roles()) {
      if (makes_stages(first.row()) && makes_stages(second.row())) continue;
      const ParityLayout layout{.mesh = AbstractMesh::parse("X=2,Y=2"), .strategy = {{"X", first}, {"Y", second}}};
      with_difference(layout, nullptr, [](const ParityDifference& difference) { EXPECT_TRUE(difference.passes()); });
    }
  }
}

/// Sequences that ranks share, in every order, with rings and without: packed documents too. Some ranks have no token.
TEST_F(Parity, ContextParallelism) {
  for (Index ranks = 2; ranks <= world_.size(); ++ranks) {
    for (const char* role : {"cp", "cp_fsdp", "cp_heads"}) {
      for (const TokenOrder order : {TokenOrder::contiguous, TokenOrder::zigzag, TokenOrder::striped}) {
        for (const Fuse fuse : {Fuse::never, Fuse::always}) {
          const ParityLayout layout{.mesh = AbstractMesh({{"X", ranks}}),
                                    .strategy = {{"X", AxisRole::parse(role)}},
                                    .schedule = {.fuse = fuse},
                                    .form = {.micro_batches = fuse == Fuse::always ? 2 : 1},
                                    .token_order = order,
                                    .task = ParityTask::packed};
          with_difference(layout, nullptr,
                          [](const ParityDifference& difference) { EXPECT_TRUE(difference.passes()); });
        }
      }
    }
  }
}

/// The faults of context parallelism have a place exactly where ranks share sequences, where attention is a ring or
/// where documents are packed. They are found wherever they are planted.
TEST_F(Parity, FaultsOfContextParallelism) {
  for (Index ranks = 1; ranks <= std::min<Index>(world_.size(), 4); ++ranks) {
    for (const std::string role : {"cp", "cp_fsdp", "cp_heads", "fsdp"}) {
      for (const Fuse fuse : {Fuse::never, Fuse::always}) {
        for (const ParityTask task : {ParityTask::usual, ParityTask::packed}) {
          const bool packed = task == ParityTask::packed;
          const ParityLayout layout{.mesh = AbstractMesh({{"X", ranks}}),
                                    .strategy = {{"X", AxisRole::parse(role)}},
                                    .schedule = {.fuse = fuse},
                                    .token_order = packed ? TokenOrder::zigzag : TokenOrder::contiguous,
                                    .task = task};
          const bool shared = ranks > 1 && role != "fsdp";
          const bool ring = shared && fuse == Fuse::always && role != "cp_heads";
          const std::map<std::string, bool> places = {
              {"position-offset", shared}, {"document-leak", packed}, {"ring-not-rescaled", ring}, {"wrong-hop", ring}};
          for (const auto& [name, place] : places) {
            with_difference(layout, &fault_named(name), [&, place = place](const ParityDifference& difference) {
              EXPECT_EQ(difference.planted, place) << name;
              EXPECT_NE(difference.passes(), place) << name;
            });
          }
        }
      }
    }
  }
}

/// Experts, with choices dropped and without, under every role that means something for them: fewer experts than ranks,
/// ranks without sequences.
TEST_F(Parity, Experts) {
  for (Index ranks = 1; ranks <= world_.size(); ++ranks) {
    for (const char* role : {"ep", "ep_fsdp", "tp_ep", "tp", "tp_seq", "fsdp", "cp_fsdp", "cp_heads"}) {
      for (const ParityTask task : {ParityTask::experts, ParityTask::dropless}) {
        const bool usual = task == ParityTask::dropless;
        const ParityLayout layout{.mesh = AbstractMesh({{"X", ranks}}),
                                  .strategy = {{"X", AxisRole::parse(role)}},
                                  .shared_memory = usual,
                                  .form = {.micro_batches = usual ? 1 : 4, .remat = usual ? Remat::none : Remat::block},
                                  .task = task};
        with_difference(layout, nullptr, [](const ParityDifference& difference) { EXPECT_TRUE(difference.passes()); });
      }
    }
  }
}

/// Experts beside every other role, and as stages.
TEST_F(Parity, ExpertsInProducts) {
  if (world_.size() < 4) GTEST_SKIP() << "4 ranks at least";
  for (const char* strategy :
       {"ep=X,fsdp=Y", "fsdp=X,ep=Y", "ep=X,tp=Y", "ep_fsdp=X,tp_seq=Y", "ep=X,tp_ep=Y", "ep=X,ep=Y", "ep=X,cp=Y",
        "cp_heads=X,ep_fsdp=Y", "zero1=X,ep=Y", "pp=X,ep=Y", "ep_fsdp=X,pp=Y"}) {
    for (const ParityTask task : {ParityTask::experts, ParityTask::dropless}) {
      const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=2");
      const ParityLayout layout{.mesh = mesh,
                                .strategy = parse_strategy(strategy, mesh),
                                .form = {.micro_batches = task == ParityTask::experts ? 2 : 1},
                                .task = task};
      with_difference(layout, nullptr, [](const ParityDifference& difference) {
        EXPECT_TRUE(difference.same_bits);
        EXPECT_TRUE(difference.passes());
      });
    }
  }
}

/// The faults of experts have a place exactly where there are experts, and where ranks share what they are about. They
/// are found wherever they are planted.
TEST_F(Parity, FaultsOfExperts) {
  for (Index ranks = 1; ranks <= std::min<Index>(world_.size(), 4); ++ranks) {
    for (const std::string role : {"ep", "tp_ep", "fsdp"}) {
      for (const ParityTask task : {ParityTask::usual, ParityTask::experts, ParityTask::dropless}) {
        const ParityLayout layout{
            .mesh = AbstractMesh({{"X", ranks}}), .strategy = {{"X", AxisRole::parse(role)}}, .task = task};
        const bool experts = task != ParityTask::usual;
        const std::map<std::string, bool> places = {{"expert-gradient-scaled", experts && ranks > 1 && role != "fsdp"},
                                                    {"drop-by-rank", experts && ranks > 1 && role != "tp_ep"},
                                                    {"wrong-expert", experts},
                                                    {"gates-not-renormalised", experts},
                                                    {"combine-without-gate", experts}};
        for (const auto& [name, place] : places) {
          with_difference(layout, &fault_named(name), [&, place = place](const ParityDifference& difference) {
            EXPECT_EQ(difference.planted, place) << name;
            EXPECT_NE(difference.passes(), place) << name;
          });
        }
      }
    }
  }
}

/// Every fault has a place in some of these layouts, and is found wherever it is planted.
TEST_F(Parity, EveryFaultIsFound) {
  if (world_.size() < 4) GTEST_SKIP() << "4 ranks at least";
  for (const Fault& fault : faults()) {
    if (fault.in_generation != nullptr) continue;  // see generation_parity_test
    int planted = 0;
    for (const char* strategy : {"dp=X,tp=Y", "fsdp=X,tp_seq=Y", "zero1=X,tp_g=Y", "zero2=X,tp=Y", "pp=X,fsdp=Y",
                                 "cp=X,tp=Y", "ep=X,fsdp=Y"}) {
      const bool context = std::string(strategy).starts_with("cp");
      const bool experts = std::string(strategy).starts_with("ep");
      const ParityTask first = context ? ParityTask::packed : experts ? ParityTask::experts : ParityTask::masked;
      for (const ParityTask task : {first, ParityTask::tied}) {
        const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=2");
        const bool tied = task == ParityTask::tied;
        const StepForm form{.micro_batches = tied ? 1 : 4, .remat = tied ? Remat::none : Remat::stream};
        const ParityLayout layout{.mesh = mesh,
                                  .strategy = parse_strategy(strategy, mesh),
                                  .schedule = {.fuse = context ? Fuse::always : Fuse::priced},
                                  .form = form,
                                  .task = task};
        with_difference(layout, &fault, [&](const ParityDifference& difference) {
          planted += difference.planted ? 1 : 0;
          EXPECT_NE(difference.passes(), difference.planted) << fault.name;
        });
      }
    }
    if (world_.rank() < 4) {
      EXPECT_GT(planted, 0) << fault.name;
    }
  }
}

}  // namespace
}  // namespace shardline
