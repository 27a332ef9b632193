#include "program/timetable/picture.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/lists.h"
#include "tests/program/timetable/pipelines.h"

namespace shardline {
namespace {

std::string picture_of(const Pipeline& pipeline, const PictureOptions& options = {}) {
  return picture(pipeline.timetable, pipeline.timing, options);
}

TEST(Picture, OfOneChunkForEachStage) {
  EXPECT_EQ(picture_of(even_pipeline("1f1b", 2, 3)),
            "Z=0  F0 F1 .  .  B0 -  F2 B1 -  .  B2 -\n"
            "Z=1  .  F0 B0 -  F1 B1 -  F2 B2 -  .  .\n"
            "F forward, B backward; then the micro-batch; - goes on, . idle; a column is 1.00 s\n");
}

TEST(Picture, OfTwoChunksForEachStage) {
  EXPECT_EQ(picture_of(even_pipeline("zb_v", 2, 2), {.axis = "P"}),
            "P=0  F0a F1a .   F0b I0b F1b I1b I0a W0b I1a W1b W0a W1a\n"
            "P=1  .   F0a F0b F1a F1b I0b I0a I1b I1a W0b W1b W0a W1a\n"
            "F forward, I gradients of inputs, W gradients of weights; then micro-batch and chunk of the stage; - goes "
            "on, . idle; a column is 500 ms\n");
}

TEST(Picture, ShowsWhoReceivesWithItsOwnCores) {
  EXPECT_EQ(picture_of(even_pipeline("1f1b", 2, 2, {.move = 1, .frees_cores = false})),
            "Z=0  F0 F1 .  .  .  <  B0 -  .  <  B1 -\n"
            "Z=1  .  <  F0 B0 -  <  F1 B1 -  .  .  .\n"
            "F forward, B backward; then the micro-batch; - goes on, . idle, < receives; a column is 1.00 s\n");
}

TEST(Picture, TakesTheUnitThatIsGiven) {
  const Timetable evaluation = forward_only(even_pipeline("1f1b", 2, 2).timetable);
  const Timing timing = timed(evaluation, {.forward = {Seconds(1), Seconds(1)}});
  EXPECT_EQ(picture(evaluation, timing, {.unit = Seconds(0.5)}),
            "Z=0  F0 -  F1 -  .  .\n"
            "Z=1  .  .  F0 -  F1 -\n"
            "F forward; then the micro-batch; - goes on, . idle; a column is 500 ms\n");
  EXPECT_EQ(fault_message([&] { picture(evaluation, timing, {.unit = Seconds(0)}); }),
            "a column of 0 s in a picture; legal is more than 0");
}

TEST(Picture, UsesBareLettersWhereNamesAreTooWide) {
  // 66 columns of 5 characters would not fit.
  EXPECT_EQ(picture_of(even_pipeline("interleaved", 1, 11)),
            "Z=0  Ffb-FB-fb-FB-fb-FB-fb-FB-fb-FB-fb-FB-fb-FB-fb-FB-fb-FB-fb-FB-fb-B-\n"
            "F forward, B backward; small letters: later chunks of the stage; - goes on, . idle; a column is 500 ms\n");
}

/// Names while they fit, letters up to one for each unit, and then longer columns.
TEST(Picture, IsNotTooWide) {
  for (const TimetableRow& row : timetable_rows()) {
    for (const int S : {1, 4, 16}) {
      for (const Index M : {1, 8, 64, 512}) {
        const std::vector<std::string> lines = split(picture_of(uneven_pipeline(std::string(row.name), S, M)), '\n');
        ASSERT_EQ(lines.size(), static_cast<std::size_t>(S) + 2);
        for (const std::string& line : lines) EXPECT_LE(line.size(), 160U) << row.name << ' ' << S << ' ' << M;
      }
    }
  }
  EXPECT_NE(picture_of(even_pipeline("1f1b", 4, 8)).find("Z=0  F0 F1 F2 F3 .  "), std::string::npos);
}

TEST(Picture, OfTasksThatTakeNoTime) {
  EXPECT_EQ(picture_of(even_pipeline("gpipe", 1, 1, {.forward = 0, .inputs = 0, .weights = 0})),
            "Z=0\nF forward, B backward; then the micro-batch; - goes on, . idle; a column is 1.00 s\n");
}

}  // namespace
}  // namespace shardline
