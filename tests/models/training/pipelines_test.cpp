// Stages change no bit. The oracle of a pipeline is the same run on the mesh of one stage alone. Many small jobs in one
// start of MPI: the first ranks form each mesh in turn. The ranks of every stage also train the model without stages,
// each stage for itself. Then every rank compares the blocks that it has.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "collectives/shared/arena.h"
#include "models/data/byte_data.h"
#include "program/timetable/named.h"
#include "runtime/base/check.h"
#include "tests/models/training/job.h"

namespace shardline {
namespace {

constexpr Index kTokens = 3;
constexpr Index kSteps = 2;

/// How a model is trained.
struct Training {
  std::string mesh = "Z=2";
  std::string strategy = "pp=Z";
  std::string timetable = "1f1b";
  Index micro_batches = 4;
  bool tied = false;
  ScheduleOptions schedule = {};
  Remat remat = Remat::none;
  bool shared_memory = true;
  std::optional<collectives::Tuning> tuning = {};
  DType dtype = DType::f32;
};

std::string to_string(const Training& training) {
  return fmt::format("{} {} {} M {} {}{}{}", training.mesh, training.strategy, training.timetable,
                     training.micro_batches, name_of(training.dtype), training.tied ? " tied" : "",
                     training.shared_memory ? "" : " messages");
}

TransformerConfig small_model(bool tied) {
  return {.vocab = 256, .d_model = 6, .layers = 5, .heads = 4, .kv_heads = 2, .head_dim = 2, .d_ff = 5, .tied = tied};
}

/// The run on `mesh`, which may lack the axis of the stages, as `strategy` then does.
RunOnMesh run_of(const Training& training, const AbstractMesh& mesh, const Strategy& strategy) {
  RunOnMesh what{.mesh = mesh, .run = {.config = small_model(training.tied), .options = {}, .strategy = strategy}};
  TrainingOptions& options = what.run.options;
  options.batch = {std::max<Index>(training.micro_batches, 4) / training.micro_batches * training.micro_batches,
                   kTokens};
  options.form = {.micro_batches = training.micro_batches, .remat = training.remat};
  options.learning_rate = 1e-2;
  options.warmup = 0;
  options.optimizer = AdamW{{.weight_decay = 0.1, .clip_norm = 0.5}};
  options.schedule = training.schedule;
  options.prices = any_hardware(mesh);
  options.pipeline.timetable = training.timetable;
  options.dtype = training.dtype;
  what.prepare = [training](collectives::Engine& engine) {
    if (training.tuning) engine.set_tuning(*training.tuning);
    constexpr Index kNoRoom = 64;  // bytes: too small for any array
    if (!training.shared_memory) collectives::give_arena(engine, kNoRoom);
  };
  return what;
}

const ByteData& text() {
  static const ByteData kText({"text"}, kTokens, 3, [](const std::string&) {
    std::string lines;
    for (int i = 0; i < 200; ++i) lines += "line " + std::to_string(i * i % 97) + ";\n";
    return lines;
  });
  return kText;
}

class Pipelines : public OnRanks {
 protected:
  /// Collective over all ranks: trains with and without stages. Expects as many arrays on all stages together as alone.
  void expect_no_bit_changed(const Training& training) {
    const AbstractMesh mesh = AbstractMesh::parse(training.mesh);
    const Strategy strategy = parse_strategy(training.strategy, mesh);
    const Axis axis = stage_axis(strategy, mesh);
    on_first(world_, static_cast<int>(mesh.ranks()), [&](const mpi::Communicator& part) {
      SCOPED_TRACE(to_string(training));
      const Outcome staged = Job(part, run_of(training, mesh, strategy)).train(text(), kSteps, 1);
      const Index stage = mesh.coordinates(part.rank())[mesh.position(axis)];
      const mpi::Communicator within = part.split(static_cast<int>(stage), part.rank());
      expect_same_bits(staged, alone(within, training, run_of(training, mesh.without(axis), within_stage(strategy))));
    });
  }

  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const TimetableRow& row : timetable_rows()) all.emplace_back(row.name);
    return all;
  }

 private:
  /// The run without stages. Those of one rank are made once.
  static Outcome alone(const mpi::Communicator& comm, const Training& training, const RunOnMesh& what) {
    if (comm.size() > 1) return Job(comm, what).train(text(), kSteps, 1);
    static std::map<std::tuple<Index, bool, Remat, DType>, Outcome> kept;
    const auto key = std::tuple(training.micro_batches, training.tied, training.remat, training.dtype);
    if (!kept.contains(key)) {
      const RunOnMesh whole = run_of(training, AbstractMesh::parse("X=1"), {{"X", default_role()}});
      kept[key] = Job(comm, whole).train(text(), kSteps, 1);
    }
    return kept.at(key);
  }
};

/// One micro-batch or as many as stages, and another number from 1 to 16 for each pair. Some stages have no layer.
TEST_F(Pipelines, EveryTimetableOnEveryNumberOfStages) {
  const std::vector<std::string> all = names();
  for (int stages = 2; stages <= world_.size(); ++stages) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto number = static_cast<Index>(i);
      const bool even = (stages + number) % 2 == 0;
      const Index another = 1 + (3 * stages + 5 * number) % 16;
      for (const Index micro_batches : std::set<Index>{even ? 1 : stages, another}) {
        expect_no_bit_changed({.mesh = fmt::format("Z={}", stages),
                               .timetable = all[i],
                               .micro_batches = micro_batches,
                               .tied = (micro_batches == another) == even});
      }
    }
  }
}

TEST_F(Pipelines, ManyMicroBatchesOnManyStages) {
  for (const std::string& name : names()) {
    expect_no_bit_changed({.mesh = fmt::format("Z={}", world_.size()), .timetable = name, .micro_batches = 16});
  }
}

/// Beside roles that communicate within a stage: fused, bundled and cut as it may be, by shared memory and by messages.
TEST_F(Pipelines, EveryWayOfRunningAStage) {
  const ScheduleOptions forced{
      .bundle_bytes = Index{1} << 30, .fuse = ScheduleOptions::Fuse::always, .panel = Flops(16)};
  const ScheduleOptions apart{.bundle_bytes = 0, .fuse = ScheduleOptions::Fuse::never};
  const std::vector<std::string> strategies{"pp=Z,fsdp=X", "pp=Z,tp=X", "tp_seq=X,pp=Z"};
  std::size_t next = 0;
  for (const std::string& name : names()) {
    for (const ScheduleOptions& schedule : {forced, apart}) {
      for (const bool shared_memory : {false, true}) {
        expect_no_bit_changed({.mesh = shared_memory ? "X=2,Z=4" : "Z=2,X=2",
                               .strategy = strategies[next++ % strategies.size()],
                               .timetable = name,
                               .micro_batches = 3,
                               .tied = shared_memory,
                               .schedule = schedule,
                               .shared_memory = shared_memory});
      }
    }
    ++next;
  }
}

TEST_F(Pipelines, RematerialisedStages) {
  for (const Remat remat : kRemats) {
    for (const char* name : {"1f1b", "zb_v"}) {
      expect_no_bit_changed({.mesh = "Z=3", .timetable = name, .micro_batches = 4, .remat = remat});
    }
  }
}

/// Each stage casts the weights that it reads. A tied table lies on two stages, or under zb_v twice on one.
TEST_F(Pipelines, StagesInBf16) {
  for (const char* timetable : {"1f1b", "zb_v"}) {
    for (const bool tied : {false, true}) {
      for (const Index micro_batches : {1, 4}) {
        for (const auto& [mesh, strategy] : {std::pair("Z=3", "pp=Z"), {"Z=2,X=2", "pp=Z,zero1=X"}}) {
          expect_no_bit_changed({.mesh = mesh,
                                 .strategy = strategy,
                                 .timetable = timetable,
                                 .micro_batches = micro_batches,
                                 .tied = tied,
                                 .dtype = DType::bf16});
        }
      }
    }
  }
}

/// A measured machine may choose other algorithms than the built-in rules. They decide the order of sums, so the stages
/// must follow them.
TEST_F(Pipelines, StagesFollowTheTuningOfTheJob) {
  using collectives::Algorithm;
  using collectives::Kind;
  collectives::Tuning tuning = collectives::Tuning::built_in();
  for (const Kind kind : {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather}) {
    tuning.rules.insert(tuning.rules.begin(), {.kind = kind, .algorithm = Algorithm::ring});
  }
  for (const char* strategy : {"pp=Z,dp=X", "pp=Z,fsdp=X", "pp=Z,tp=X"}) {
    expect_no_bit_changed({.mesh = "Z=2,X=4", .strategy = strategy, .shared_memory = false, .tuning = tuning});
  }
}

}  // namespace
}  // namespace shardline
