#include "program/timetable/chunk_bytes.h"

#include <gtest/gtest.h>

#include "tests/program/timetable/pipelines.h"

namespace shardline {
namespace {

ChunkBytes bytes_of_each(int chunks, double activations, double for_weights, double gradients, double forward,
                         double backward) {
  const auto each = [&](double bytes) { return std::vector<Bytes>(static_cast<std::size_t>(chunks), Bytes(bytes)); };
  return {each(activations), each(for_weights), each(gradients), each(forward), each(backward), each(backward)};
}

/// Where W reads all that F left, bytes are counts: held() counts them by its own rule.
TEST(ChunkBytes, AreCountsWhereAChunkHoldsOneByte) {
  for (const TimetableRow& row : timetable_rows()) {
    for (const int stages : {1, 2, 4, 5}) {
      for (const Index count : {1, 3, 8}) {
        const Timetable timetable = even_pipeline(std::string(row.name), stages, count).timetable;
        const std::vector<Bytes> most = most_held(timetable, bytes_of_each(timetable.chunks(), 1, 1, 0, 0, 0));
        const std::vector<Held> counted = held(timetable);
        for (std::size_t z = 0; z < most.size(); ++z) {
          EXPECT_EQ(most[z].value, static_cast<double>(counted[z].activations)) << row.name << " stage " << z;
        }
      }
    }
  }
}

/// By hand, for two stages and three micro-batches. F leaves 10, of which W reads 4; I leaves 3 for W. I0 runs beside
/// what F0 and F1 left; after it 7 + 10 are there.
TEST(ChunkBytes, OfASplitBackwardPassByHand) {
  const Timetable timetable = even_pipeline("zb_h1", 2, 3).timetable;
  ASSERT_EQ(order_text(timetable, 0), "F0 F1 I0 W0 F2 I1 W1 I2 W2");
  EXPECT_EQ(most_held(timetable, bytes_of_each(2, 10, 4, 3, 1, 2))[0].value, 10 + 10 + 3 + 2);
  EXPECT_EQ(most_held(timetable, bytes_of_each(2, 10, 4, 0, 9, 2))[0].value, 10 + 10 + 9);
  ASSERT_EQ(order_text(timetable, 1), "F0 I0 F1 I1 W0 F2 I2 W1 W2");
  EXPECT_EQ(most_held(timetable, bytes_of_each(2, 10, 4, 3, 1, 2))[1].value, (4 + 3) + 10 + 3 + 2);
}

}  // namespace
}  // namespace shardline
