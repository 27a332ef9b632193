// Traces of training steps on real ranks, with collectives in flight beside computation and messages in both
// directions.
#include <gtest/gtest.h>

#include <csignal>

#include "models/data/byte_data.h"
#include "models/training/training.h"
#include "runtime/host/interrupt.h"
#include "tests/models/temporary_folder.h"
#include "tests/tools/trace/trace_oracle.h"
#include "tools/trace/tracing.h"

namespace shardline::tools {
namespace {

using collectives::Algorithm;
using collectives::Kind;

ByteData small_data() {
  return ByteData({"text"}, 7, 3, [](const std::string&) {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i * i % 97) + ";\n";
    return text;
  });
}

/// Links that leave the cores free, so that everything possible is in flight.
roofline::Hardware network(const AbstractMesh& mesh) {
  roofline::Hardware hardware{"test", FlopsPerSecond(1e10), BytesPerSecond(1e10), Seconds(1e-6), {}};
  for (const Axis& axis : mesh.axes()) {
    hardware.links[axis] = {.latency = Seconds(1e-6), .bandwidth = BytesPerSecond(1e9), .frees_cores = true};
  }
  return hardware;
}

collectives::Tuning always(Algorithm algorithm) {
  collectives::Tuning tuning;
  for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::all_to_all}) {
    for (const auto link : {collectives::LinkKind::node, collectives::LinkKind::network}) {
      tuning.rules.push_back({.kind = kind, .link = link, .algorithm = algorithm});
    }
  }
  return tuning;
}

/// A folder of rank 0 whose path all ranks know.
class TracedTraining : public testing::Test {
 protected:
  TracedTraining() : job(CommonOptions{}, {}), path(job.world().broadcast(folder.path("t"), 0)) {}

  std::unique_ptr<Trainer> trainer(const std::string& strategy, const ScheduleOptions& schedule) {
    TrainingOptions options;
    options.batch = {5, 7};
    options.steps = 100;
    options.schedule = schedule;
    options.prices = network(job.mesh().axes());
    const TransformerConfig config{
        .vocab = 257, .d_model = 20, .layers = 3, .heads = 6, .kv_heads = 3, .head_dim = 4, .d_ff = 22};
    const AbstractMesh& mesh = job.mesh().axes();
    return std::make_unique<Trainer>(
        job.engine(), plan_training({config, options, parse_strategy(strategy, mesh)}, mesh), options.prices);
  }

  /// Collective over all ranks: trains and writes the trace. Rank 0 checks it.
  void expect_sound_trace(Trainer& trainer, Index steps, trace_oracle::Expected expected) {
    Tracing tracing(job, path, trainer.executor().trace(), trainer.engine());
    trainer.set_recording(tracing.recording());
    const ByteData data = small_data();
    for (Index step = 0; step < steps; ++step) trainer.step(data, step);
    trainer.set_recording(nullptr);
    trainer.align();
    EXPECT_TRUE(tracing.write("train"));
    if (!job.root()) return;
    expected.ranks = job.world().size();
    for (const std::string& fault : trace_oracle::faults(path, expected)) ADD_FAILURE() << fault;
  }

  TemporaryFolder folder;
  Job job;
  std::string path;
};

TEST_F(TracedTraining, InPlace) {
  const auto trained = trainer("fsdp=X", {.overlap = false, .bundle_bytes = 0, .fuse = ScheduleOptions::Fuse::never});
  expect_sound_trace(*trained, 3, {});
}

TEST_F(TracedTraining, InFlightBothWaysRound) {
  job.engine().set_tuning(always(Algorithm::bidirectional));
  const auto trained = trainer("fsdp=X", {.distance = 3, .bundle_bytes = 1 << 30, .panel = Flops(2000)});
  const int ranks = job.world().size();
  expect_sound_trace(*trained, 3, {.arrows = ranks > 1, .both_ways = ranks > 2});
}

TEST_F(TracedTraining, InManySegmentsBetweenEveryTwo) {
  collectives::Tuning tuning = always(Algorithm::pairwise);
  tuning.node_segment_bytes = 100;
  job.engine().set_tuning(tuning);
  const auto trained = trainer("zero1=X", {.distance = 1, .fuse = ScheduleOptions::Fuse::never});
  expect_sound_trace(*trained, 3, {.arrows = job.world().size() > 1});
}

TEST_F(TracedTraining, Fused) {
  const auto trained =
      trainer("tp_seq=X", {.distance = 0, .fuse = ScheduleOptions::Fuse::always, .panel = Flops(2000)});
  expect_sound_trace(*trained, 3, {.arrows = job.world().size() > 1});
}

TEST_F(TracedTraining, OnlyTheLatestStepsAreKept) {
  const auto trained = trainer("dp=X", {});
  expect_sound_trace(*trained, 23, {});
  if (!job.root()) return;
  const trace_oracle::Json steps = trace_oracle::Json::parse(std::ifstream(path)).at("otherData").at("steps");
  EXPECT_EQ(steps.at("first"), 4);
  EXPECT_EQ(steps.at("last"), 23);
  EXPECT_EQ(steps.at("dropped"), 3);
}

/// The groups of an axis enter at different times.
TEST_F(TracedTraining, OverTwoAxes) {
  if (job.world().size() != 4) GTEST_SKIP() << "needs 4 ranks";
  CommonOptions options;
  options.mesh = "X=2,Y=2";
  Job torus(options, {});
  torus.engine().set_tuning(always(Algorithm::ring));
  TrainingOptions training;
  training.batch = {4, 7};
  training.prices = network(torus.mesh().axes());
  const AbstractMesh& mesh = torus.mesh().axes();
  const TransformerConfig config{
      .vocab = 257, .d_model = 20, .layers = 2, .heads = 6, .kv_heads = 3, .head_dim = 4, .d_ff = 22};
  Trainer trained(torus.engine(), plan_training({config, training, parse_strategy("fsdp=X,tp=Y", mesh)}, mesh),
                  training.prices);
  Tracing tracing(torus, path, trained.executor().trace(), trained.engine());
  trained.set_recording(tracing.recording());
  const ByteData data = small_data();
  for (Index step = 0; step < 2; ++step) trained.step(data, step);
  trained.align();
  EXPECT_TRUE(tracing.write("train"));
  if (!job.root()) return;
  for (const std::string& fault : trace_oracle::faults(path, {.ranks = 4, .arrows = true})) ADD_FAILURE() << fault;
}

TEST_F(TracedTraining, AnExceptionLeavesThePartOfEachRank) {
  const auto trained = trainer("fsdp=X", {});
  const ByteData data = small_data();
  const std::string part = fmt::format("{}.rank{}.part", path, job.world().rank());
  testing::internal::CaptureStderr();
  try {
    Tracing tracing(job, path, trained->executor().trace(), trained->engine());
    trained->set_recording(tracing.recording());
    trained->step(data, 0);
    throw Error("the disk is on fire");
  } catch (const Error&) {
    trained->set_recording(nullptr);
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find(part), std::string::npos);
  for (const std::string& fault : trace_oracle::faults(part, {.ranks = job.world().size(), .part = true})) {
    ADD_FAILURE() << fault;
  }
  expect_sound_trace(*trained, 1, {});
  EXPECT_FALSE(std::filesystem::exists(part)) << "a part beside the whole";
}

/// All ranks know a signal to one rank after the step.
TEST_F(TracedTraining, ASignalToOneRankStopsAll) {
  const auto trained = trainer("fsdp=X", {});
  const ByteData data = small_data();
  const Interruption interruption;
  EXPECT_FALSE(trained->step(data, 0).stop);
  if (job.world().rank() == job.world().size() - 1) std::raise(SIGTERM);
  EXPECT_TRUE(trained->step(data, 1).stop);
}

}  // namespace
}  // namespace shardline::tools
