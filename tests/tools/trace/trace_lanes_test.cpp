// Traces of made-up runs: the slices, their lanes and names, and the found faults.
#include "tools/trace/trace_lanes.h"

#include <gtest/gtest.h>

#include <fstream>

#include "runtime/layout/tensor.h"
#include "tests/models/temporary_folder.h"
#include "tests/tools/trace/trace_oracle.h"
#include "tools/trace/trace_check.h"
#include "tools/trace/trace_text.h"

namespace shardline::tools {
namespace {

const AbstractMesh kMesh({{"X", 3}, {"Y", 2}});

Label product(const std::string& name) {
  return {.name = name, .kind = "einsum", .limiter = "compute", .predicted = Seconds(2)};
}

Label gather(const std::string& name, const Axes& axes) {
  return {.name = name,
          .kind = "all_gather",
          .axes = axes,
          .limiter = "link",
          .communicates = true,
          .bytes = Bytes(80),
          .wire_bytes = Bytes(40),
          .predicted = Seconds(1)};
}

/// A trace and one run of rank 0 in it, in whole seconds from 100 on, and the joint measurement of its spans.
struct Made {
  Trace trace;
  Recording::Run run{.number = 7, .time = {Seconds(100), Seconds(200)}};
  std::vector<JointTime> joint;

  int label(Label what) { return trace.describe(std::move(what)); }
  void work(const Span& span, const std::vector<TimeRange>& parts = {}) {
    run.work.push_back({span, parts});
    joint.push_back({span.end - span.begin, span.begin, 0});
  }
  RankEvents events() const { return events_of({kMesh, 0, &trace, {&run}, joint, Seconds(100)}); }
};

Ticks at(double seconds) { return static_cast<Ticks>(seconds * kTicksPerSecond); }

const Lane& lane(const RankEvents& events, const std::string& name) {
  for (const Lane& each : events.lanes) {
    if (each.name == name) return each;
  }
  static const Lane kNone;
  ADD_FAILURE() << "no lane " << name;
  return kNone;
}

std::vector<std::string> names(const RankEvents& events) {
  std::vector<std::string> result;
  for (const Lane& each : events.lanes) result.push_back(each.name);
  return result;
}

TEST(TraceLanes, SlicesThatOverlapGoToFurtherLanes) {
  Made made;
  const int x = made.label(gather("gather", {"X"}));
  for (const auto& [begin, end] :
       {std::pair(110.0, 120.0), {112.0, 114.0}, {113.0, 130.0}, {114.0, 118.0}, {120.0, 121.0}}) {
    made.work({.label = x, .begin = Seconds(begin), .end = Seconds(end)});
  }
  const RankEvents events = made.events();
  EXPECT_EQ(names(events), (std::vector<std::string>{"steps", "axis X", "axis X (2)", "axis X (3)"}));
  EXPECT_EQ(lane(events, "axis X").slices.size(), 2U);
  EXPECT_EQ(lane(events, "axis X (2)").slices.size(), 2U);
  EXPECT_EQ(lane(events, "axis X (3)").slices.size(), 1U);
  EXPECT_EQ(lane(events, "axis X (2)").slices[1].begin, at(14));
}

TEST(TraceLanes, CollectivesAreCutWhereTheLastRankEnters) {
  Made made;
  const int x = made.label(gather("gather", {"X", "Y"}));
  made.work({.label = x, .begin = Seconds(110), .end = Seconds(120), .exposed = Seconds(3)});
  made.joint[0] = {Seconds(4), Seconds(117), 5};
  made.work({.label = x, .begin = Seconds(130), .end = Seconds(131)});
  made.joint[1] = {Seconds(2), Seconds(133), 4};  // this rank left before the last rank came
  made.run.waits.push_back({x, {Seconds(118), Seconds(120)}});
  const RankEvents events = made.events();
  const std::vector<Slice>& slices = lane(events, "axes XY").slices;
  ASSERT_EQ(slices.size(), 4U);
  EXPECT_EQ(slices[0].name, "until rank 5 enters");
  EXPECT_EQ(slices[0].category, "early");
  EXPECT_EQ(slices[0].end, at(17));
  EXPECT_EQ(slices[1].begin, at(17));
  EXPECT_EQ(slices[1].end, at(20));
  EXPECT_EQ(slices[1].arguments.at("measured_us"), 3e6);  // its drawn length
  EXPECT_EQ(slices[1].arguments.at("all_ranks_us"), 4e6);
  EXPECT_EQ(slices[1].arguments.at("predicted_us"), 1e6);
  EXPECT_EQ(slices[1].arguments.at("ratio"), 3);
  EXPECT_EQ(slices[1].arguments.at("wire_bytes"), 40);
  EXPECT_EQ(slices[1].arguments.at("exposed_us"), 3e6);
  EXPECT_EQ(slices[1].arguments.at("limiter"), "link");
  EXPECT_EQ(slices[3].begin, slices[3].end);
  const std::vector<Slice>& waits = lane(events, "waiting").slices;
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].begin, at(18));
  EXPECT_EQ(waits[0].category, "waiting");
}

TEST(TraceLanes, PanelsAreSlicesAndWhatRanAsOneIsOne) {
  Made made;
  const int a = made.label(product("a"));
  const int b = made.label(gather("b", {"Y"}));
  const int c = made.label(gather("c", {"Y"}));
  made.work({.label = a, .begin = Seconds(110), .end = Seconds(114)},
            {{Seconds(110), Seconds(111)}, {Seconds(112), Seconds(115)}});
  made.work({.label = b, .begin = Seconds(120), .end = Seconds(130), .exposed = Seconds(2), .together = 2});
  made.work({.label = c, .begin = Seconds(120), .end = Seconds(130), .exposed = Seconds(2), .together = 2});
  const RankEvents events = made.events();
  const std::vector<Slice>& panels = lane(events, "compute").slices;
  ASSERT_EQ(panels.size(), 2U);
  EXPECT_EQ(panels[1].end - panels[1].begin, at(3));
  EXPECT_EQ(panels[1].arguments.at("panel"), "2 of 2");
  EXPECT_EQ(panels[1].arguments.at("measured_us"), 3e6);
  EXPECT_EQ(panels[1].arguments.at("all_ranks_us"), 4e6);
  EXPECT_TRUE(panels[1].arguments.at("ratio").is_null());
  const std::vector<Slice>& bundle = lane(events, "axis Y").slices;
  ASSERT_EQ(bundle.size(), 1U);
  EXPECT_EQ(bundle[0].name, "b and 1 more");
  EXPECT_EQ(bundle[0].arguments.at("operations"), (Json{"b", "c"}));
  EXPECT_EQ(bundle[0].arguments.at("measured_us"), 1e7);
  EXPECT_EQ(bundle[0].arguments.at("predicted_us"), 2e6);
  EXPECT_EQ(bundle[0].arguments.at("ratio"), 5);
  EXPECT_EQ(bundle[0].arguments.at("exposed_us"), 4e6);
}

/// Stage 0 of two with one micro-batch: F0 takes 2 s and B0 takes 3 s by prediction.
TracedStage stage_of_two() {
  const Task f{TaskKind::forward, 0, 0};
  const Task b{TaskKind::backward, 0, 0};
  TracedStage stage{
      .axis = "X", .stage = 0, .timetable = {}, .predicted = {}, .tasks = {f, b, b, {}}, .moves = {-1, -1, 4, -1}};
  stage.timetable = {.stages = 2,
                     .micro_batches = 1,
                     .place = {0, 1},
                     .kinds = {TaskKind::forward, TaskKind::backward},
                     .orders = {{f, b}, {}}};
  stage.predicted.begin = std::vector<Seconds>(task_count(stage.timetable));
  stage.predicted.end = stage.predicted.begin;
  stage.predicted.end[number_of(stage.timetable, f)] = Seconds(2);
  stage.predicted.begin[number_of(stage.timetable, b)] = Seconds(7);
  stage.predicted.end[number_of(stage.timetable, b)] = Seconds(10);
  return stage;
}

TEST(TraceLanes, AStageShowsItsTasksBesideTheirPrediction) {
  Made made;
  const int forward = made.label(product("forward"));
  const int backward = made.label(product("backward"));
  const int receive = made.label(gather("receive", {"X"}));
  const int update = made.label(product("update"));
  made.work({.label = forward, .begin = Seconds(101), .end = Seconds(105)});
  made.work({.label = receive, .begin = Seconds(101), .end = Seconds(109), .exposed = Seconds(4)});
  made.work({.label = backward, .begin = Seconds(109), .end = Seconds(110)});
  made.work({.label = backward, .begin = Seconds(111), .end = Seconds(113)});
  made.work({.label = update, .begin = Seconds(113), .end = Seconds(114)});
  made.run.messages.push_back(
      {.collective = {receive, 0}, .from = 1, .to = 0, .posted = Seconds(101), .completed = Seconds(109)});
  const TracedStage stage = stage_of_two();
  const RankEvents events = events_of({AbstractMesh({{"X", 2}, {"Y", 3}}),
                                       1,
                                       &made.trace,
                                       {&made.run},
                                       made.joint,
                                       Seconds(100),
                                       &stage,
                                       {Seconds(100)}});
  const std::vector<Slice>& tasks = lane(events, "tasks").slices;
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].name, "F0");
  EXPECT_EQ(tasks[0].begin, at(1));
  EXPECT_EQ(tasks[0].end, at(5));
  EXPECT_EQ(tasks[0].arguments.at("ratio"), 2);
  EXPECT_EQ(tasks[1].name, "B0");
  EXPECT_EQ(tasks[1].begin, at(9));  // the receive does not count
  EXPECT_EQ(tasks[1].end, at(13));
  const std::vector<Slice>& predicted = lane(events, "tasks, predicted").slices;
  ASSERT_EQ(predicted.size(), 2U);
  EXPECT_EQ(predicted[1].begin, at(7));
  EXPECT_EQ(predicted[1].end, at(10));
  const std::vector<Slice>& computed = lane(events, "compute").slices;
  EXPECT_EQ(computed[0].arguments.at("task"), "F0");
  EXPECT_EQ(computed[0].arguments.at("micro_batch"), 0);
  EXPECT_FALSE(computed[3].arguments.contains("task"));
  EXPECT_EQ(computed[3].arguments.at("stage"), 0);
  // Rank 1 lies at Y=1: its partner on stage 1 is rank 4.
  const Slice& message = lane(events, "axis X, received").slices.at(0);
  EXPECT_EQ(message.name, "all_gather from rank 4");
  EXPECT_EQ(message.arguments.at("from"), 4);
  EXPECT_EQ(message.arguments.at("to"), 1);
}

/// One end of a message of rank 0. One of its three neighbours is at the other end.
Message message(Index to, Heading heading, bool sends) {
  return {.from = 0,
          .to = to,
          .bytes = 64,
          .heading = heading,
          .sends = sends,
          .posted = Seconds(111),
          .completed = Seconds(sends ? 112 : 113)};
}

TEST(TraceLanes, MessagesGoToLanesOfTheirAxisAndDirection) {
  Made made;
  made.label(gather("gather", {"X", "Y"}));
  made.run.messages = {message(1, Heading::none, true), message(2, Heading::forward, true),
                       message(4, Heading::backward, true), message(5, Heading::forward, true)};
  const RankEvents events = made.events();
  EXPECT_EQ(names(events), (std::vector<std::string>{"steps", "axes XY forward, sent", "axis X backward, sent",
                                                     "axis X forward, sent", "axis Y, sent"}));
  const Slice& told = lane(events, "axis Y, sent").slices.at(0);
  EXPECT_EQ(told.name, "all_gather to rank 1");
  EXPECT_EQ(told.arguments.at("operation"), "gather");
  EXPECT_EQ(told.arguments.at("bytes"), 64);

  // The other end has the same number. Every other message has a different one.
  std::vector<std::string> ids;
  for (const Lane& each : events.lanes) {
    for (const Slice& slice : each.slices) {
      for (const ArrowEnd& end : slice.arrows) ids.push_back(end.id);
    }
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()) - ids.begin(), 4);
  Made peer;
  peer.label(gather("gather", {"X", "Y"}));
  peer.run.messages = {message(1, Heading::none, false)};
  const RankEvents others = events_of({kMesh, 1, &peer.trace, {&peer.run}, {}, Seconds(100)});
  const Slice& received = lane(others, "axis Y, received").slices.at(0);
  EXPECT_EQ(received.name, "all_gather from rank 0");
  ASSERT_EQ(received.arrows.size(), 1U);
  EXPECT_FALSE(received.arrows[0].tail);
  EXPECT_EQ(received.arrows[0].id, told.arrows.at(0).id);
}

TEST(TraceText, AnyNameBecomesJson) {
  const std::vector<std::pair<std::string, std::string>> given = {
      {"\"quoted\" and \\back\\", "\"quoted\" and \\back\\"},
      {"two\nlines\tand \x01", "two\nlines\tand \x01"},
      {"caf\xC3\xA9 \xE2\x88\x82", "caf\xC3\xA9 \xE2\x88\x82"},
      {"bad \xFF\xC3 bytes", "bad \xEF\xBF\xBD\xEF\xBF\xBD bytes"},
      {"</script><!--", "</script><!--"}};
  Made made;
  double begin = 100;
  for (const auto& [name, wanted] : given) {
    made.work({.label = made.label(product(name)), .begin = Seconds(begin), .end = Seconds(begin + 1)});
    begin += 2;
  }
  TraceCount count;
  const std::string text = text_before({{"host", "a \xFE \"host\""}}) +
                           text_of({0, "rank 0 (\"h\xFFost\"\n)", "\\"}, made.events(), count) + text_after();
  const nlohmann::json parsed = nlohmann::json::parse(text);
  EXPECT_EQ(parsed.at("otherData").at("host"), "a \xEF\xBF\xBD \"host\"");
  std::vector<std::string> found;
  for (const auto& event : parsed.at("traceEvents")) {
    if (event.at("name") == "process_name") {
      EXPECT_EQ(event.at("args").at("name"), "rank 0 (\"h\xEF\xBF\xBDost\"\n)");
    }
    if (event.value("cat", "") == "compute") found.push_back(event.at("name"));
  }
  ASSERT_EQ(found.size(), given.size());
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_EQ(found[i], given[i].second);
  EXPECT_EQ(count.slices, static_cast<Index>(given.size()) + 1);
}

/// A file of two ranks with a message from one to the other, and at most one fault.
class TraceFile : public testing::Test {
 protected:
  std::string text(Index first_rank_slices = 2) {
    count_ = {};
    std::string result = text_before({{"mesh", {{"X", 3}, {"Y", 2}}}, {"clock_uncertainty_s", {0, 0}}});
    for (const Index rank : {0, 1}) {
      Made made;
      const int work = made.label(product("work"));
      made.label(gather("gather", {"Y"}));
      for (Index i = 0; i < first_rank_slices; ++i) {
        const double begin = 101 + 2 * static_cast<double>(i);
        made.work({.label = work, .begin = Seconds(begin), .end = Seconds(begin + 1)});
      }
      made.run.memory = {{Seconds(101), 10}};
      made.run.messages = {message(1, Heading::none, rank == 0)};
      made.run.messages[0].collective.label = 1;
      const RankEvents events = events_of({kMesh, rank, &made.trace, {&made.run}, made.joint, Seconds(100)});
      result += rank == 0 ? "" : ",\n";
      result += text_of({rank, fmt::format("rank {} (host, X=0, Y={})", rank, rank), ""}, events, count_);
    }
    return result + text_after();
  }

  std::string fault(const std::string& text) {
    std::ofstream(path()) << text;
    return fault_of_trace(path(), count_);
  }
  std::string path() const { return folder_.path("trace.json"); }
  /// `text` with the first `from` replaced.
  static std::string with(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }

  TemporaryFolder folder_;
  TraceCount count_;
};

TEST_F(TraceFile, ThatIsRightHasNoFault) {
  EXPECT_EQ(fault(text()), "");
  EXPECT_EQ(count_.processes, 2);
  EXPECT_EQ(count_.arrows, 1);
  for (const std::string& each : trace_oracle::faults(path(), {.ranks = 2, .arrows = true})) ADD_FAILURE() << each;
}

TEST_F(TraceFile, FaultsAreFound) {
  const std::string good = text();
  const auto expect_fault = [&](const std::string& bad, const std::string& words) {
    EXPECT_NE(fault(bad).find(words), std::string::npos) << fault(bad) << " instead of " << words;
    EXPECT_FALSE(trace_oracle::faults(path(), {.ranks = 2, .arrows = true}).empty()) << words;
  };
  expect_fault(good.substr(0, good.size() / 2), "parse");
  expect_fault("", "parse");
  expect_fault(with(good, "\"ts\":1000000.0,\"dur\":1000000.0", "\"ts\":1000000.0,\"dur\":2000000.015625"), "overlap");
  expect_fault(with(good, "\"ph\":\"s\"", "\"ph\":\"f\""), "arrows");
  expect_fault(with(good, "\"id\":\"0x", "\"id\":\"0x1"), "tails");
  expect_fault(with(with(good, "\"ts\":0.0", "\"ts\":0.5"), "\"ts\":0.0", "\"ts\":0.5"), "first event");
  expect_fault(with(good, "{\"ph\":\"X\",\"name\":\"work\"", "{\"ph\":\"C\",\"name\":\"work\""), "slices");
  expect_fault(with(good, "\"name\":\"process_name\"", "\"name\":\"process_game\""), "processes");
}

TEST(Recording, KeepsTheLatestRuns) {
  Recording recording({.runs = 3, .events = 1000});
  for (int run = 1; run <= 10; ++run) {
    recording.begin_run();
    recording.add(Span{.label = run});
    recording.end_run();
  }
  ASSERT_EQ(recording.runs().size(), 3U);
  EXPECT_EQ(recording.runs().front().number, 8);
  EXPECT_EQ(recording.runs().back().work.at(0).span.label, 10);
  EXPECT_EQ(recording.forgotten(), 7);
}

TEST(Recording, KeepsNoMoreEventsThanItMayOnceARunHasEnded) {
  Recording recording({.runs = 100, .events = 50});
  for (int run = 1; run <= 10; ++run) {
    recording.begin_run();
    for (int i = 0; i < 20; ++i) recording.add(Recording::Wait{});
    recording.end_run();
  }
  // Two runs of about 20 events fit. The current run is kept with any number of events.
  EXPECT_EQ(recording.runs().size(), 3U);
  for (int i = 0; i < 1000; ++i) recording.add(Recording::Wait{});
  recording.begin_run();
  EXPECT_EQ(recording.runs().size(), 1U);
}

TEST(Recording, NumbersCollectivesByLabelInEachRun) {
  Recording recording({});
  for (int run = 0; run < 2; ++run) {
    recording.begin_run();
    recording.enter(4);
    EXPECT_EQ(recording.next_collective().number, 0);
    recording.enter(5);
    EXPECT_EQ(recording.next_collective().number, 0);
    EXPECT_EQ(recording.next_collective().number, 1);
    recording.enter(4);
    const CollectiveNumber collective = recording.next_collective();
    EXPECT_EQ(collective.label, 4);
    EXPECT_EQ(collective.number, 1);
    recording.end_run();
  }
}

TEST(Recording, MemoryIsNotedWhereItChanges) {
  Recording recording({});
  recording.begin_run();
  recording.sample_memory();
  const Tensor more(DType::f64, {100});
  recording.sample_memory();
  recording.sample_memory();
  const std::vector<Recording::Memory>& samples = recording.runs().back().memory;
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[1].bytes - samples[0].bytes, 800);
}

TEST(Recording, TimeOutsideRangesIsWhatIsLeft) {
  const TimeRange whole{Seconds(10), Seconds(20)};
  EXPECT_EQ(outside({}, whole).size(), 1U);
  const std::vector<TimeRange> parts = outside({{Seconds(10), Seconds(11)}, {Seconds(12), Seconds(13)}}, whole);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].begin, Seconds(11));
  EXPECT_EQ(parts[0].end, Seconds(12));
  EXPECT_EQ(parts[1].begin, Seconds(13));
  EXPECT_EQ(parts[1].end, Seconds(20));
}

}  // namespace
}  // namespace shardline::tools
