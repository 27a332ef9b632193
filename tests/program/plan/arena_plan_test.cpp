// Compares places of communicated arrays in shared memory with lives that this test counts itself.

#include "program/plan/arena_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/program/programs.h"

namespace shardline {
namespace {

/// First and last action that uses a version. The life of a final version lasts to the end.
struct Life {
  int first = 0;
  int last = 0;
};

std::vector<Life> lives(const RankProgram& program, const ProgramSchedule& schedule) {
  const int end = static_cast<int>(schedule.actions.size());
  std::vector<Life> all(program.versions.size(), {end, -1});
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    for (const auto& versions : {program.steps[i].operands, program.steps[i].results}) {
      for (const VersionId v : versions) {
        Life& life = all[static_cast<std::size_t>(v)];
        life = {std::min(life.first, schedule.begins[i]), std::max(life.last, schedule.ends[i])};
      }
    }
  }
  for (const auto& [array, version] : program.finals) all[static_cast<std::size_t>(version)].last = end;
  return all;
}

/// Schedules as on a node, as over links, and with bundles of everything.
std::vector<ProgramSchedule> schedules(const RankProgram& program) {
  roofline::Hardware hardware{"test", FlopsPerSecond(1e10), BytesPerSecond(1e10), Seconds(1e-6), {}};
  for (const Axis& axis : program.mesh.axes()) hardware.links[axis] = {Seconds(1e-6), BytesPerSecond(1e9)};
  return {in_order(program), schedule(program, hardware, {}),
          schedule(program, hardware, {.bundle_bytes = Index{1} << 30})};
}

Index bytes_of(const RankProgram& program, VersionId v, Index rank) {
  return element_count(local_shape(program, v, rank)) * Index{4};
}

/// True if `b` takes over the memory of `a`.
bool takes_over(const RankProgram& program, const Liveness& liveness, VersionId a, VersionId b) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    for (std::size_t k = 0; k < program.steps[i].results.size(); ++k) {
      if (program.steps[i].results[k] == b) return liveness.storage_taken(static_cast<int>(i), k) == a;
    }
  }
  return false;
}

void expect_sound(const RankProgram& program, const ProgramSchedule& schedule) {
  const Liveness liveness(program, schedule);
  const ArenaPlan plan = plan_arena(program, liveness);
  const std::vector<Life> life = lives(program, schedule);
  for (const auto& [a, place_a] : plan.places) {
    EXPECT_EQ(place_a % 64, 0);
    for (Index rank = 0; rank < program.mesh.ranks(); ++rank) {
      EXPECT_LE(place_a + bytes_of(program, a, rank), plan.bytes);
    }
    for (const auto& [b, place_b] : plan.places) {
      const Life& one = life[static_cast<std::size_t>(a)];
      const Life& other = life[static_cast<std::size_t>(b)];
      if (a >= b || one.last < other.first || other.last < one.first) continue;
      if (takes_over(program, liveness, a, b)) {
        EXPECT_EQ(place_a, place_b);
        continue;
      }
      for (Index rank = 0; rank < program.mesh.ranks(); ++rank) {
        const bool apart =
            place_a + bytes_of(program, a, rank) <= place_b || place_b + bytes_of(program, b, rank) <= place_a;
        ASSERT_TRUE(apart) << "versions " << a << " and " << b << " on rank " << rank;
      }
    }
  }
}

/// The memory of a bundle holds its arrays, and nothing else uses it from its start to its end.
void expect_bundles_apart(const RankProgram& program, const ProgramSchedule& schedule) {
  const ArenaPlan plan = plan_arena(program, Liveness(program, schedule));
  const std::vector<Life> life = lives(program, schedule);
  for (std::size_t at = 0; at < schedule.actions.size(); ++at) {
    const Action& action = schedule.actions[at];
    if (action.kind != ActionKind::start || action.steps.size() < 2) continue;
    Index bytes = 0;
    for (const int number : action.steps) {
      bytes += bytes_of(program, program.steps[static_cast<std::size_t>(number)].operands[0], 0);
    }
    const Index begin = plan.bundles.at(static_cast<int>(at));
    const int last = schedule.ends[static_cast<std::size_t>(action.steps[0])];
    EXPECT_LE(begin + bytes, plan.bytes);
    for (const auto& [v, place] : plan.places) {
      const Life& other = life[static_cast<std::size_t>(v)];
      if (other.last < static_cast<int>(at) || last < other.first) continue;
      EXPECT_TRUE(place + bytes_of(program, v, 0) <= begin || begin + bytes <= place) << "version " << v;
    }
  }
}

/// Every array that ranks read from each other has a place, or is an input that gets one.
void expect_complete(const RankProgram& program) {
  const ProgramSchedule schedule = in_order(program);
  const ArenaPlan plan = plan_arena(program, Liveness(program, schedule));
  for (const Step& step : program.steps) {
    if (!communicates(step.kind) || step.kind == StepKind::reshard) continue;
    for (const VersionId v : {step.operands[0], step.results[0]}) {
      EXPECT_TRUE(plan.places.contains(v) || plan.inputs.contains(v)) << to_string(program.array_of(v));
    }
  }
}

TEST(ArenaPlan, KeepsApartWhatLivesAtTheSameTime) {
  for (const bool divides : {true, false}) {
    const TrainingStep step = small_training_step(divides, false, 2);
    for (const auto& [mesh, strategy] :
         {std::pair("X=2", "dp"), std::pair("X=3", "fsdp"), std::pair("Y=2", "tp"), std::pair("Y=3", "tp_seq"),
          std::pair("X=2,Y=2", "fsdp=X,tp=Y"), std::pair("X=2,Y=3", "zero1=X,tp_g=Y")}) {
      SCOPED_TRACE(std::string(mesh) + " " + strategy);
      const RankProgram program = partitioned(step.model.program, mesh, strategy);
      for (const ProgramSchedule& schedule : schedules(program)) {
        expect_sound(program, schedule);
        expect_bundles_apart(program, schedule);
        EXPECT_GT(plan_arena(program, Liveness(program, schedule)).bytes, 0);
      }
      expect_complete(program);
    }
  }
}

TEST(ArenaPlan, OfOneRankIsEmpty) {
  const TrainingStep step = small_training_step(true);
  const RankProgram program = partitioned(step.model.program, "X=1", "fsdp");
  const ProgramSchedule schedule = in_order(program);
  const ArenaPlan plan = plan_arena(program, Liveness(program, schedule));
  EXPECT_EQ(plan.total_bytes(), 0);
}

}  // namespace
}  // namespace shardline
