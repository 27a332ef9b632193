#include "runtime/layout/abstract_mesh.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/base/check.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

TEST(AbstractMesh, RankIsTheRowMajorCoordinate) {
  const AbstractMesh mesh({{"X", 2}, {"Y", 3}, {"Z", 4}});
  EXPECT_EQ(mesh.ranks(), 24);
  Index rank = 0;
  for (Index x = 0; x < 2; ++x) {
    for (Index y = 0; y < 3; ++y) {
      for (Index z = 0; z < 4; ++z, ++rank) {
        EXPECT_EQ(mesh.coordinates(rank), (Coordinates{x, y, z}));
        EXPECT_EQ(mesh.rank({x, y, z}), rank);
      }
    }
  }
}

TEST(AbstractMesh, GroupsAreOrderedByTheAxesAsWritten) {
  const AbstractMesh mesh({{"X", 2}, {"Y", 2}, {"Z", 2}});
  EXPECT_EQ(mesh.group(5, {"X"}), (std::vector<Index>{1, 5}));
  EXPECT_EQ(mesh.group(5, {"Z"}), (std::vector<Index>{4, 5}));
  EXPECT_EQ(mesh.group(5, {"X", "Z"}), (std::vector<Index>{0, 1, 4, 5}));
  EXPECT_EQ(mesh.group(5, {"Z", "X"}), (std::vector<Index>{0, 4, 1, 5}));
  EXPECT_EQ(mesh.group(5, {}), (std::vector<Index>{5}));
  EXPECT_EQ(mesh.position_in_group(4, {"X", "Z"}), 2);
  EXPECT_EQ(mesh.position_in_group(4, {"Z", "X"}), 1);
}

TEST(AbstractMesh, AxesOfSizeOneDoNotMove) {
  const AbstractMesh mesh({{"X", 1}, {"Y", 3}, {"Z", 1}});
  EXPECT_EQ(mesh.axes_that_move(), (Axes{"Y"}));
  EXPECT_EQ(mesh.size(Axes{"Z", "X"}), 1);
  EXPECT_EQ(mesh.in_mesh_order({"Z", "X", "Y"}), (Axes{"X", "Y", "Z"}));
  EXPECT_EQ(AbstractMesh().ranks(), 1);
  EXPECT_EQ(AbstractMesh().coordinates(0), Coordinates{});
}

TEST(AbstractMesh, ParsesAndPrints) {
  const AbstractMesh mesh = AbstractMesh::parse("data=2,X=4");
  EXPECT_EQ(mesh, AbstractMesh({{"data", 2}, {"X", 4}}));
  EXPECT_EQ(mesh.to_string(), "{data:2, X:4}");
  EXPECT_EQ(AbstractMesh::parse(" data = 2,  X=4 "), mesh);
}

TEST(AbstractMesh, RefusalsSayWhatWasGiven) {
  const auto parse = [](const std::string& text) { return usage_message([&] { AbstractMesh::parse(text); }); };
  EXPECT_EQ(parse("X"), "mesh \"X\": \"X\" is not NAME=SIZE, as in X=2,Y=4");
  EXPECT_EQ(parse("X=2,"), "mesh \"X=2,\": \"\" is not NAME=SIZE, as in X=2,Y=4");
  EXPECT_EQ(parse("X=2, "), "mesh \"X=2, \": \"\" is not NAME=SIZE, as in X=2,Y=4");
  EXPECT_EQ(parse("X Y=2"), "mesh axis \"X Y\" is not a name: letters, digits and _, starting with a letter");
  EXPECT_EQ(parse("X=2 4"), "mesh \"X=2 4\": size \"2 4\" of axis X is not a whole number");
  EXPECT_EQ(parse("X=2.5"), "mesh \"X=2.5\": size \"2.5\" of axis X is not a whole number");
  EXPECT_EQ(parse("X=0"), "mesh axis X has size 0; sizes start at 1");
  EXPECT_EQ(parse("X=2,X=3"), "mesh axis X is given twice");
  EXPECT_EQ(parse("2X=2"), "mesh axis \"2X\" is not a name: letters, digits and _, starting with a letter");
  EXPECT_EQ(parse("X=4294967296,Y=4294967296"), "mesh has more ranks than 63 bits count");
  EXPECT_EQ(parse("X=99999999999"), "mesh \"X=99999999999\" has 99999999999 ranks; at most 16777216");
  EXPECT_EQ(parse("X=4096,Y=4097"), "mesh \"X=4096,Y=4097\" has 16781312 ranks; at most 16777216");
  const AbstractMesh mesh({{"X", 2}});
  EXPECT_EQ(usage_message([&] { static_cast<void>(mesh.size("Y")); }), "there is no axis Y in mesh {X:2}");
  EXPECT_THROW(mesh.coordinates(2), Error);
  EXPECT_THROW(mesh.coordinates(-1), Error);
}

}  // namespace
}  // namespace shardline
