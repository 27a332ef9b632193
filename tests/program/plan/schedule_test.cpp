// Schedules of whole training steps: every step once, no read before the array exists, gathers early,
// reductions late.
#include "program/plan/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "program/ir/print.h"
#include "program/plan/fusion.h"
#include "program/plan/liveness.h"
#include "program/plan/timeline.h"
#include "program/product/product.h"
#include "tests/program/programs.h"

namespace shardline {
namespace {

/// Links that move beside the cores, or need them. On slow links moving takes as long as computing.
roofline::Hardware machine(const RankProgram& program, bool frees_cores, double bandwidth = 1e9) {
  roofline::Hardware hardware{"test", FlopsPerSecond(1e10), BytesPerSecond(1e12), Seconds(1e-9), {}};
  for (const Axis& axis : program.mesh.axes()) {
    hardware.links[axis] = {
        .latency = Seconds(1e-9), .bandwidth = BytesPerSecond(bandwidth), .frees_cores = frees_cores};
  }
  return hardware;
}

int count(const ProgramSchedule& schedule, ActionKind kind) {
  return static_cast<int>(std::count_if(schedule.actions.begin(), schedule.actions.end(),
                                        [&](const Action& action) { return action.kind == kind; }));
}

/// Walks the actions with a set of existing versions. Uses none of the scheduler's own data.
void expect_sound(const RankProgram& program, const ProgramSchedule& schedule) {
  std::vector<bool> there(program.versions.size(), false);
  for (const auto& [array, version] : program.inputs) there[static_cast<std::size_t>(version)] = true;
  std::vector<int> begun(program.steps.size(), 0);
  std::vector<int> ended(program.steps.size(), 0);
  const auto finish = [&](int number) {
    ++ended[static_cast<std::size_t>(number)];
    for (const VersionId v : program.steps[static_cast<std::size_t>(number)].results) {
      there[static_cast<std::size_t>(v)] = true;
    }
  };
  for (const Action& action : schedule.actions) {
    for (const int number : action.steps) {
      const Step& step = program.steps[static_cast<std::size_t>(number)];
      if (action.kind != ActionKind::wait) {
        ++begun[static_cast<std::size_t>(number)];
        for (const VersionId v : step.operands) {
          EXPECT_TRUE(there[static_cast<std::size_t>(v)]) << to_string(program, step) << " reads what is not there";
        }
      }
      EXPECT_TRUE(action.kind != ActionKind::start || communicates(step.kind)) << to_string(program, step);
      if (action.kind != ActionKind::start) finish(number);
    }
    if (action.kind == ActionKind::fuse) {
      ASSERT_GE(action.steps.size(), 2U);
    } else if (action.kind == ActionKind::run) {
      ASSERT_EQ(action.steps.size(), 1U);
    }
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    EXPECT_EQ(begun[i], 1) << to_string(program, program.steps[i]);
    EXPECT_EQ(ended[i], 1) << to_string(program, program.steps[i]);
  }
}

/// A version is never freed before an action that still uses it, or while a collective in flight uses it.
void expect_buffers_live(const RankProgram& program, const ProgramSchedule& schedule) {
  const Liveness liveness(program, schedule);
  std::vector<int> freed_at(program.versions.size(), static_cast<int>(schedule.actions.size()));
  for (std::size_t i = 0; i < schedule.actions.size(); ++i) {
    for (const VersionId v : liveness.freed_after(static_cast<int>(i))) {
      freed_at[static_cast<std::size_t>(v)] = static_cast<int>(i);
    }
  }
  for (std::size_t i = 0; i < schedule.actions.size(); ++i) {
    for (const int number : schedule.actions[i].steps) {
      const Step& step = program.steps[static_cast<std::size_t>(number)];
      for (const std::vector<VersionId>* all : {&step.operands, &step.results}) {
        for (const VersionId v : *all) EXPECT_GE(freed_at[static_cast<std::size_t>(v)], static_cast<int>(i));
      }
    }
  }
}

/// An array that is overwritten in place has no more readers: every other step that reads it has ended, also
/// collectives in flight.
void expect_nothing_overwritten_early(const RankProgram& program, const ProgramSchedule& schedule) {
  const Liveness liveness(program, schedule);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    for (std::size_t k = 0; k < program.steps[i].results.size(); ++k) {
      const VersionId old = liveness.storage_taken(static_cast<int>(i), k);
      if (old < 0) continue;
      for (std::size_t reader = 0; reader < program.steps.size(); ++reader) {
        const std::vector<VersionId>& reads = program.steps[reader].operands;
        if (reader == i || std::find(reads.begin(), reads.end(), old) == reads.end()) continue;
        EXPECT_LT(schedule.ends[reader], schedule.begins[i])
            << to_string(program, program.steps[i]) << " overwrites what is read by "
            << to_string(program, program.steps[reader]);
      }
    }
  }
}

/// A step overwrites state only after a gather of it has ended.
TEST(Schedule, StateIsNotUpdatedInPlaceWhileAGatherReadsIt) {
  const TrainingStep step = small_training_step(true, false, 1);
  const RankProgram program = partitioned(step.model.program, "X=2", "fsdp");
  ProgramSchedule made = in_order(program);
  const auto update = [&] {
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const Step& s = program.steps[i];
      if (s.kind == StepKind::compute && program.phase_of(s).kernel->name == "adamw") return static_cast<int>(i);
    }
    return -1;
  }();
  ASSERT_GE(update, 0);
  const VersionId parameter = program.steps[static_cast<std::size_t>(update)].operands[0];
  EXPECT_EQ(Liveness(program, made).storage_taken(update, 0), parameter);
  const auto gather = std::find_if(program.steps.begin(), program.steps.end(), [&](const Step& s) {
    return s.kind == StepKind::all_gather && s.operands[0] == parameter;
  });
  ASSERT_NE(gather, program.steps.end());
  made.ends[static_cast<std::size_t>(gather - program.steps.begin())] = made.begins[static_cast<std::size_t>(update)];
  EXPECT_EQ(Liveness(program, made).storage_taken(update, 0), -1);
}

const std::vector<std::pair<const char*, const char*>> kLayouts = {{"X=2", "dp"},
                                                                   {"X=3", "fsdp"},
                                                                   {"X=2", "zero1"},
                                                                   {"Y=2", "tp"},
                                                                   {"Y=3", "tp_seq"},
                                                                   {"X=2,Y=2", "fsdp=X,tp=Y"},
                                                                   {"X=2,Y=3", "zero1=X,tp_g=Y"}};

TEST(Schedule, BeginsAndEndsEveryStepOnceAndReadsNothingEarly) {
  for (const bool divides : {true, false}) {
    const TrainingStep step = small_training_step(divides, false, 3);
    for (const auto& [mesh, strategy] : kLayouts) {
      SCOPED_TRACE(std::string(mesh) + " " + strategy);
      const RankProgram program = partitioned(step.model.program, mesh, strategy);
      expect_sound(program, in_order(program));
      for (const bool frees : {true, false}) {
        for (const auto fuse :
             {ScheduleOptions::Fuse::never, ScheduleOptions::Fuse::priced, ScheduleOptions::Fuse::always}) {
          for (const int distance : {0, 1, 2, 100}) {
            for (const Index bundle : {Index{0}, Index{256}, Index{1} << 30}) {
              const ScheduleOptions options{
                  .overlap = true, .distance = distance, .bundle_bytes = bundle, .fuse = fuse};
              const ProgramSchedule made = schedule(program, machine(program, frees), options);
              expect_sound(program, made);
              expect_buffers_live(program, made);
              expect_nothing_overwritten_early(program, made);
            }
          }
        }
      }
    }
  }
}

TEST(Schedule, IsInOrderWhereNothingMayBeMoved) {
  const TrainingStep step = small_training_step(true, false, 2);
  const RankProgram program = partitioned(step.model.program, "X=2", "fsdp");
  const ScheduleOptions options{.overlap = false, .bundle_bytes = 0, .fuse = ScheduleOptions::Fuse::never};
  EXPECT_EQ(schedule(program, machine(program, true), options).actions, in_order(program).actions);
  const ScheduleOptions overlapping{.bundle_bytes = 0};
  EXPECT_EQ(schedule(program, machine(program, false), overlapping).actions, in_order(program).actions)
      << "where moving needs the cores nothing is gained";
}

TEST(Schedule, StartsGathersOfParametersOneLayerAhead) {
  const TrainingStep step = small_training_step(true, false, 3);
  const RankProgram program = partitioned(step.model.program, "X=2", "fsdp");
  const ProgramSchedule made = schedule(program, machine(program, true), {});
  int ahead = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& gather = program.steps[i];
    if (gather.kind != StepKind::all_gather || gather.region.layer < 2 || gather.region.pass != Pass::forward) continue;
    // Some computation of the previous layer comes between start and end.
    for (int a = made.begins[i]; a < made.ends[i]; ++a) {
      const Step& other = program.steps[static_cast<std::size_t>(made.actions[static_cast<std::size_t>(a)].steps[0])];
      if (other.kind == StepKind::compute && other.region.layer == gather.region.layer - 1) {
        ++ahead;
        break;
      }
    }
    // None starts two layers ahead.
    for (int a = made.begins[i]; a < made.ends[i]; ++a) {
      const Step& other = program.steps[static_cast<std::size_t>(made.actions[static_cast<std::size_t>(a)].steps[0])];
      EXPECT_TRUE(other.kind != StepKind::compute || other.region.layer >= gather.region.layer - 1);
    }
  }
  EXPECT_GE(ahead, 2 * 7) << "seven weight matrices in each of layers 2 and 3";
}

TEST(Schedule, EndsReductionsOfGradientsLate) {
  const TrainingStep step = small_training_step(true, false, 3);
  const RankProgram program = partitioned(step.model.program, "X=2", "fsdp");
  const ProgramSchedule made = schedule(program, machine(program, true), {});
  int hidden = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].kind != StepKind::reduce_scatter) continue;
    for (int a = made.begins[i] + 1; a < made.ends[i]; ++a) {
      const Action& action = made.actions[static_cast<std::size_t>(a)];
      const Step& other = program.steps[static_cast<std::size_t>(action.steps[0])];
      if (other.kind != StepKind::compute) continue;
      EXPECT_TRUE(action.polls) << "a computation beside a collective must poll";
      ++hidden;
      break;
    }
  }
  EXPECT_GE(hidden, 3 * 7) << "all but the last of the reductions have computation after them";
}

TEST(Schedule, BundlesSmallAllReducesOverTheSameAxes) {
  const TrainingStep step = small_training_step(true, false, 3);
  const RankProgram program = partitioned(step.model.program, "X=2", "fsdp");
  const auto all_reduces = std::count_if(program.steps.begin(), program.steps.end(),
                                         [](const Step& s) { return s.kind == StepKind::all_reduce; });
  ASSERT_GE(all_reduces, 7) << "of the norms' weights";
  const auto starts = [&](Index bytes) {
    const ProgramSchedule made = schedule(program, machine(program, false), {.bundle_bytes = bytes});
    std::size_t largest = 0;
    for (const Action& action : made.actions) {
      Index sum = 0;
      if (action.kind != ActionKind::start || action.steps.size() < 2) continue;
      largest = std::max(largest, action.steps.size());
      for (const int number : action.steps) {
        const Step& s = program.steps[static_cast<std::size_t>(number)];
        EXPECT_EQ(s.kind, StepKind::all_reduce);
        EXPECT_EQ(s.axes, program.steps[static_cast<std::size_t>(action.steps[0])].axes);
        sum += 4 * element_count(local_shape(program, s.operands[0], 0));
      }
      EXPECT_LT(sum, 2 * bytes);
    }
    return largest;
  };
  EXPECT_GE(starts(Index{1} << 20), 7U);
  EXPECT_LE(starts(64), 3U);
  EXPECT_EQ(starts(0), 0U);
}

TEST(Schedule, FusesWhereThePriceSaysSo) {
  const TrainingStep step = small_training_step(true, false, 2);
  const RankProgram program = partitioned(step.model.program, "Y=2", "tp_seq");
  const auto fused = [&](bool frees, ScheduleOptions::Fuse fuse) {
    return count(schedule(program, machine(program, frees, 1e6), {.fuse = fuse}), ActionKind::fuse);
  };
  EXPECT_EQ(fused(true, ScheduleOptions::Fuse::never), 0);
  EXPECT_EQ(fused(false, ScheduleOptions::Fuse::priced), 0) << "moving that needs the core cannot be hidden";
  EXPECT_GT(fused(false, ScheduleOptions::Fuse::always), 0);
  EXPECT_EQ(fused(true, ScheduleOptions::Fuse::priced), 0) << "a product of one panel hides nothing";
}

TEST(Schedule, FusesLargeProductsOverLinksThatMoveBesideThem) {
  TransformerConfig config = small_config(true, false, 1);
  config.d_model = 2048;
  config.d_ff = 8192;
  const Model model = make_evaluation(config, {8, 512});
  const RankProgram program = partitioned(model.program, "Y=4", "tp_seq");
  const auto fused = [&](bool frees, double bandwidth) {
    const ProgramSchedule made = schedule(program, machine(program, frees, bandwidth), {});
    expect_sound(program, made);
    return count(made, ActionKind::fuse);
  };
  EXPECT_GE(fused(true, 1e7), 1) << "the reduction after the second product of the MLP";
  EXPECT_EQ(fused(true, 1e12), 0) << "so little moving is not worth cutting a product";
  EXPECT_EQ(fused(false, 1e7), 0);
}

/// The block of book exercise 10.3: the gathered array feeds the first product, the second product feeds the
/// scatter.
TEST(Schedule, FusesBothEndsOfAChainOfTwoProducts) {
  const Product product = make_product(parse_product("In[B_X, D_Y] * W_in[D, F_Y] * W_out[F_Y, D] -> Out[B_X, D_Y]"),
                                       {{"B", 64}, {"D", 48}, {"F", 80}}, AbstractMesh::parse("X=2,Y=4"));
  roofline::Hardware hardware{"test", FlopsPerSecond(1e10), BytesPerSecond(1e12), Seconds(1e-9), {}};
  for (const Axis& axis : product.mesh.axes()) {
    hardware.links[axis] = {.latency = Seconds(1e-9), .bandwidth = BytesPerSecond(1e9)};
  }
  const RankProgram program = product.candidates(hardware).at(0).program;
  EXPECT_EQ(lines(program), (std::vector<std::string>{
                                "In[B_X, D] = AllGather_Y(In[B_X, D_Y])",
                                "T1[B_X, F_Y] = In[B_X, D] *_D W_in[D, F_Y]",
                                "Out[B_X, D]{U_Y} = T1[B_X, F_Y] *_F W_out[F_Y, D]",
                                "Out[B_X, D_Y] = ReduceScatter_Y(Out[B_X, D]{U_Y})",
                            }));
  const ProgramSchedule made = schedule(program, hardware, {.fuse = ScheduleOptions::Fuse::always});
  ASSERT_EQ(made.actions.size(), 2U);
  EXPECT_EQ(made.actions[0], (Action{ActionKind::fuse, {0, 1}, true}));
  EXPECT_EQ(made.actions[1], (Action{ActionKind::fuse, {2, 3}, true}));
}

/// Every computation takes 1 s, every collective half a second.
struct EvenPrices {
  std::vector<StepEstimate> estimates;
  double computing = 0;  ///< of all steps
  double moving = 0;
};

EvenPrices evenly_priced(const RankProgram& program) {
  EvenPrices prices;
  for (const Step& step : program.steps) {
    const bool moves = communicates(step.kind);
    prices.estimates.emplace_back().price.time = Seconds(moves ? 0.5 : 1.0);
    prices.estimates.back().flops = Flops(moves ? 0 : 1e10);
    (moves ? prices.moving : prices.computing) += moves ? 0.5 : 1.0;
  }
  return prices;
}

TEST(ScheduledTime, CountsWhatNobodyWaitedForOnce) {
  const TrainingStep step = small_training_step(true, false, 1);
  const RankProgram program = partitioned(step.model.program, "X=2", "fsdp");
  const auto [estimates, computing, moving] = evenly_priced(program);
  const ScheduledTime apart = scheduled_time(program, in_order(program), estimates, machine(program, true));
  EXPECT_DOUBLE_EQ(apart.total.value, computing + moving);
  EXPECT_DOUBLE_EQ(apart.exposed.value, moving);
  const ScheduleOptions no_bundles{.bundle_bytes = 0};
  const ProgramSchedule made = schedule(program, machine(program, true), no_bundles);
  const ScheduledTime beside = scheduled_time(program, made, estimates, machine(program, true));
  EXPECT_DOUBLE_EQ(beside.moving.value, moving);
  // Products beside collectives in flight lose a little time, because they are cut into panels.
  double cut = 0;
  for (const Action& action : made.actions) {
    const Step& first = program.steps[static_cast<std::size_t>(action.steps[0])];
    const bool product = first.kind == StepKind::compute && program.phase_of(first).kernel->form == KernelForm::product;
    if (action.kind == ActionKind::run && made.cuts && product) cut += 1 / roofline::Hardware().panels - 1;
  }
  EXPECT_GT(cut, 0);
  EXPECT_NEAR(beside.total.value, computing + cut + beside.exposed.value, 1e-9);
  EXPECT_LT(beside.exposed.value, 0.6 * moving);
  roofline::Hardware by_itself = machine(program, true);
  by_itself.polled = false;
  const ScheduledTime uncut = scheduled_time(program, made, estimates, by_itself);
  EXPECT_NEAR(uncut.total.value, computing + uncut.exposed.value, 1e-9) << "nothing is cut where nothing is polled";
  const ScheduledTime in_memory = scheduled_time(program, made, estimates, machine(program, false));
  EXPECT_NEAR(in_memory.total.value, computing + cut + moving, 1e-9) << "moving that needs the core is not hidden";
}

/// The rank is at one step at a time. What it waits for is at the collective, and what it computes at the computation.
TEST(ScheduledTime, IsSharedByTheSteps) {
  const TrainingStep step = small_training_step(true, false, 3);
  for (const auto& [mesh, strategy] : kLayouts) {
    for (const bool frees : {true, false}) {
      SCOPED_TRACE(std::string(mesh) + " " + strategy);
      const RankProgram program = partitioned(step.model.program, mesh, strategy);
      const auto [estimates, computing, moving] = evenly_priced(program);
      const ScheduledTime time =
          scheduled_time(program, schedule(program, machine(program, frees), {}), estimates, machine(program, frees));
      double all = 0;
      double at_collectives = 0;
      for (std::size_t i = 0; i < program.steps.size(); ++i) {
        all += time.taken[i].value;
        if (communicates(program.steps[i].kind)) at_collectives += time.taken[i].value;
      }
      EXPECT_NEAR(all, time.total.value, 1e-9);
      EXPECT_NEAR(at_collectives, time.exposed.value, 1e-9);
      const ScheduledTime apart = scheduled_time(program, in_order(program), estimates, machine(program, frees));
      for (std::size_t i = 0; i < program.steps.size(); ++i) EXPECT_EQ(apart.taken[i], estimates[i].price.time);
    }
  }
}

/// Products of 1 s each in panels beside half a second of moving. FLOPs are 0, so one panel is the whole product.
TEST(ScheduledTime, OfACollectiveMatmulIsTheLongerPartAndAPanelOrBothParts) {
  const TrainingStep step = small_training_step(true, false, 1);
  const RankProgram program = partitioned(step.model.program, "Y=2", "tp_seq");
  const auto [estimates, computing, moving] = evenly_priced(program);
  // Without early starts and late ends, a collective runs only beside its fused product.
  const ScheduleOptions options{.overlap = false, .bundle_bytes = 0, .fuse = ScheduleOptions::Fuse::always};
  const ProgramSchedule made = schedule(program, machine(program, true), options);
  const int fused = count(made, ActionKind::fuse);
  ASSERT_GE(fused, 2);
  std::size_t products = 0;
  for (const auto& [action, group] : made.fusions) products += group.size();
  ASSERT_GT(products, made.fusions.size()) << "q, k and v read one gather, and so do gate and up";
  const double cut = static_cast<double>(products) * (1.0 / 0.95 - 1);
  const ScheduledTime beside = scheduled_time(program, made, estimates, machine(program, true));
  EXPECT_NEAR(beside.total.value, computing + moving + cut, 1e-9);
  EXPECT_NEAR(beside.exposed.value, moving - fused * 0.5, 1e-9);
  const ScheduledTime in_memory = scheduled_time(program, made, estimates, machine(program, false));
  EXPECT_NEAR(in_memory.total.value, computing + moving + cut, 1e-9);
  EXPECT_NEAR(in_memory.exposed.value, moving, 1e-9);
}

}  // namespace
}  // namespace shardline
