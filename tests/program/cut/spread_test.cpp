#include "program/cut/spread.h"

#include <gtest/gtest.h>

#include "program/timetable/timing.h"
#include "tests/program/timetable/pipelines.h"

namespace shardline {
namespace {

using Counts = std::vector<int>;

/// Layers that take these times forward, and as long for each half of the backward pass.
TaskCosts layers_that_take(const std::vector<double>& seconds, double move = 0) {
  return costs_by_chunk(static_cast<int>(seconds.size()), {.move = move},
                        [&](int layer) { return seconds[static_cast<std::size_t>(layer)]; });
}

TEST(StageLayers, EmbeddingIsInTheFirstChunkAndProjectionInTheLast) {
  const StageLayers layers = stage_layers({2, 0, 1}, {0, 1, 2}, 3);
  EXPECT_EQ(layers.chunk_of, (Counts{0, 0, 0, 2, 2}));
  EXPECT_EQ(layers.place, (Counts{0, 1, 2}));
  EXPECT_EQ(layers.stages(), 3);
  EXPECT_EQ(stage_layers({1, 1, 0, 2}, {0, 1, 1, 0}, 4).stages(), 2);
  EXPECT_EQ(stage_layers({0, 0}, {0, 1}, 0).chunk_of, (Counts{0, 1}));
}

TEST(StageLayers, RefusesNumbersThatDoNotFit) {
  const auto refusal = [](const Counts& counts) { return fault_message([&] { stage_layers(counts, {0, 1}, 3); }); };
  EXPECT_EQ(refusal({1, 1}), "layers of the stages 1,1: 2 numbers of layers are needed that add up to 3");
  EXPECT_EQ(refusal({1, 1, 1}), "layers of the stages 1,1,1: 2 numbers of layers are needed that add up to 3");
  EXPECT_EQ(refusal({4, -1}), "layers of the stages 4,-1: 2 numbers of layers are needed that add up to 3");
}

TEST(StageLayers, CostsOfChunksAddUpThoseOfTheirLayers) {
  const TaskCosts costs = costs_of_chunks(layers_that_take({1, 2, 4, 8}, 0.5), stage_layers({2, 0}, {0, 1}, 2));
  EXPECT_EQ(costs.forward, (std::vector{Seconds(7), Seconds(8)}));
  EXPECT_EQ(costs.inputs, costs.forward);
  EXPECT_EQ(costs.weights, costs.forward);
  EXPECT_EQ(costs.backward, (std::vector{Seconds(14), Seconds(16)}));
  EXPECT_EQ(costs.move, Seconds(0.5));
}

TEST(StageLayers, ChunksLieInALoopOrThereAndBack) {
  EXPECT_EQ(place_of_chunks({.name = "1f1b", .stages = 3}), (Counts{0, 1, 2}));
  EXPECT_EQ(place_of_chunks({.name = "interleaved", .stages = 3}), (Counts{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(place_of_chunks({.name = "zb_v", .stages = 3}), (Counts{0, 1, 2, 2, 1, 0}));
}

Counts spread_of(const std::vector<double>& seconds, int stages) {
  return spread_layers({.name = "1f1b", .stages = stages, .micro_batches = 8}, layers_that_take(seconds));
}

/// Small sums, done by hand: each chunk takes as long.
TEST(SpreadLayers, ChunksTakeAsLongWhereTheyCan) {
  EXPECT_EQ(spread_of({0, 1, 1, 1, 1, 1, 1, 0}, 3), (Counts{2, 2, 2}));
  EXPECT_EQ(spread_of({0, 1, 1, 1, 1, 1, 1, 2}, 4), (Counts{2, 2, 2, 0})) << "a projection as dear as two layers";
  EXPECT_EQ(spread_of({1, 1, 1, 1, 1, 1, 1, 1}, 4), (Counts{1, 2, 2, 1}));
  EXPECT_EQ(spread_of({0, 3, 1, 1, 1, 3, 0}, 3), (Counts{1, 3, 1}));
  EXPECT_EQ(spread_of({0, 1, 0}, 2).size(), 2U) << "fewer layers than stages";
}

/// All ways to write `sum` as `parts` numbers.
std::vector<Counts> all_counts(int parts, int sum) {
  if (parts == 1) return {{sum}};
  std::vector<Counts> all;
  for (int first = 0; first <= sum; ++first) {
    for (Counts& rest : all_counts(parts - 1, sum - first)) {
      rest.insert(rest.begin(), first);
      all.push_back(std::move(rest));
    }
  }
  return all;
}

/// Every way to spread the layers is simulated. None is shorter with one chunk for each stage; with two, where moving
/// one layer to a neighbour does not find all ways, none is shorter by a twentieth.
TEST(SpreadLayers, NoOtherWayTakesMuchLess) {
  const std::vector<double> seconds{0.5, 1, 1, 1, 1, 1, 1, 1, 1.7};
  const TaskCosts by_layer = layers_that_take(seconds, 0.1);
  const int between = static_cast<int>(seconds.size()) - 2;
  for (const TimetableRow& row : timetable_rows()) {
    const TimetableRequest request{.name = std::string(row.name), .stages = 2, .micro_batches = 6};
    const std::vector<int> place = place_of_chunks(request);
    const auto time_of = [&](const Counts& counts) {
      const TaskCosts costs = costs_of_chunks(by_layer, stage_layers(counts, place, between));
      return timed(make_timetable(request, costs), costs).makespan;
    };
    const Seconds chosen = time_of(spread_layers(request, by_layer));
    for (const Counts& counts : all_counts(static_cast<int>(place.size()), between)) {
      EXPECT_GE(time_of(counts).value, chosen.value * (row.chunks_per_stage == 1 ? 1 - 1e-12 : 0.95)) << row.name;
    }
  }
}

}  // namespace
}  // namespace shardline
