#include "models/parity/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <set>

namespace shardline {
namespace {

/// What a layout chooses, in words: its mesh, the role of each axis by its place, and each unusual choice.
std::vector<std::string> words(const ParityLayout& layout) {
  std::vector<std::string> result = {layout.mesh.to_string()};
  for (std::size_t axis = 0; axis < layout.strategy.size(); ++axis) {
    result.push_back(std::to_string(axis) + ":" + layout.strategy[axis].second.name());
  }
  result.insert(result.end(), layout.choices.begin(), layout.choices.end());
  return result;
}

/// Which words meet in a layout.
class Meetings {
 public:
  void add(const ParityLayout& layout) {
    std::vector<std::size_t> numbers;
    for (const std::string& word : words(layout)) {
      const auto [at, is_new] = numbers_.try_emplace(word, words_.size());
      if (is_new) words_.push_back(word);
      numbers.push_back(at->second);
    }
    for (const std::size_t a : numbers) {
      for (const std::size_t b : numbers) met_.at(a).set(b);
    }
  }

  std::set<std::pair<std::string, std::string>> pairs() const {
    std::set<std::pair<std::string, std::string>> all;
    for (std::size_t a = 0; a < words_.size(); ++a) {
      for (std::size_t b = 0; b < words_.size(); ++b) {
        if (met_[a].test(b)) all.emplace(words_[a], words_[b]);
      }
    }
    return all;
  }

 private:
  static constexpr std::size_t kMostWords = 256;
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> words_;
  std::array<std::bitset<kMostWords>, kMostWords> met_;
};

std::set<std::pair<std::string, std::string>> pairs(const std::vector<ParityLayout>& layouts) {
  Meetings meetings;
  for (const ParityLayout& layout : layouts) meetings.add(layout);
  return meetings.pairs();
}

TEST(ParityLayout, MeshesAreAllFactorisations) {
  std::vector<std::string> names;
  for (const AbstractMesh& mesh : parity_meshes(8)) names.push_back(mesh.to_string());
  EXPECT_EQ(names, (std::vector<std::string>{"{X:1}", "{X:2}", "{X:3}", "{X:2, Y:2}", "{X:4}", "{X:5}", "{X:2, Y:3}",
                                             "{X:3, Y:2}", "{X:6}", "{X:7}", "{X:2, Y:2, Z:2}", "{X:2, Y:4}",
                                             "{X:4, Y:2}", "{X:8}"}));
}

/// The choices of each factor on one rank, but for the usual ones.
std::vector<std::vector<std::string>> factors_of_one_rank() {
  std::vector<std::string> roles;
  for (const AxisRole& role : training_roles()) roles.push_back("0:" + role.name());
  return {{"{X:1}"},
          roles,
          {"keep-parameters"},
          {"regather-activations"},
          {"fuse=never", "fuse=always"},
          {"overlap=off", "prefetch=0", "prefetch=3"},
          {"bundles=none", "bundles=all"},
          {"sweeps=tiny"},
          {"panels=tiny"},
          {"micro-batches=2", "micro-batches=8"},
          {"remat=matmuls", "remat=stream", "remat=block"},
          {"timetable=gpipe", "timetable=zb_h1", "timetable=interleaved", "timetable=interleaved_zb", "timetable=zb_v"},
          {"by-price"},
          {"messages"},
          {"tied", "biases", "masked", "packed", "experts", "dropless"},
          {"token-order=contiguous", "token-order=striped"}};
}

TEST(ParityLayout, EveryTwoChoicesMeet) {
  const auto factors = factors_of_one_rank();
  std::set<std::pair<std::string, std::string>> all;
  for (const auto& first : factors) {
    for (const auto& second : factors) {
      for (const std::string& a : first) {
        for (const std::string& b : second) {
          if (&first != &second || a == b) all.emplace(a, b);
        }
      }
    }
  }
  EXPECT_EQ(pairs(paired_layouts(1)), all);
}

/// There are too many to visit all.
TEST(ParityLayout, TheProductGivesEachLayoutOnce) {
  constexpr std::size_t kSome = 20000;
  std::set<std::string> names;
  const auto visit = [&](const ParityLayout& layout) {
    EXPECT_TRUE(names.insert(to_string(layout)).second) << to_string(layout);
    if (names.size() == kSome) throw Error("enough");
  };
  EXPECT_THROW(for_each_layout(1, visit), Error);
  EXPECT_TRUE(names.contains("dp=X token-order=striped"));
  EXPECT_TRUE(names.contains("dp=X timetable=zb_v by-price messages packed token-order=striped"));
}

TEST(ParityLayout, EveryRoleMeetsEveryMeshAndEveryOtherRole) {
  const auto met = pairs(paired_layouts(8));
  for (const AbstractMesh& mesh : parity_meshes(8)) {
    for (std::size_t axis = 0; axis < mesh.axes().size(); ++axis) {
      for (const AxisRole& role : training_roles()) {
        EXPECT_TRUE(met.contains({mesh.to_string(), std::to_string(axis) + ":" + role.name()}));
      }
    }
  }
  for (const AxisRole& first : training_roles()) {
    for (const AxisRole& second : training_roles()) {
      if (makes_stages(first.row()) && makes_stages(second.row())) continue;
      EXPECT_TRUE(met.contains({"0:" + first.name(), "1:" + second.name()}));
      EXPECT_TRUE(met.contains({"1:" + first.name(), "2:" + second.name()}));
    }
  }
}

TEST(ParityLayout, LayoutsAreDistinctAndTheFirstIsPlain) {
  for (const Index ranks : {1, 4, 8}) {
    const std::vector<ParityLayout> layouts = paired_layouts(ranks);
    std::set<std::string> names;
    for (const ParityLayout& layout : layouts) names.insert(layout.mesh.to_string() + to_string(layout));
    EXPECT_EQ(names.size(), layouts.size());
    EXPECT_TRUE(layouts.front().choices.empty());
  }
}

TEST(ParityLayout, EveryTaskIsThere) {
  std::set<ParityTask> tasks;
  for (const ParityLayout& layout : paired_layouts(1)) tasks.insert(layout.task);
  EXPECT_EQ(tasks, (std::set{ParityTask::usual, ParityTask::tied, ParityTask::biases, ParityTask::masked,
                             ParityTask::packed, ParityTask::experts, ParityTask::dropless}));
}

/// A choice changes what its name says.
TEST(ParityLayout, ChoicesChangeTheLayout) {
  for (const ParityLayout& layout : paired_layouts(4)) {
    const auto has = [&](const char* name) {
      return std::find(layout.choices.begin(), layout.choices.end(), name) != layout.choices.end();
    };
    EXPECT_EQ(layout.task == ParityTask::tied, has("tied"));
    EXPECT_EQ(layout.task == ParityTask::masked, has("masked"));
    EXPECT_EQ(layout.task == ParityTask::biases, has("biases"));
    EXPECT_EQ(layout.task == ParityTask::packed, has("packed"));
    EXPECT_EQ(layout.task == ParityTask::experts, has("experts"));
    EXPECT_EQ(layout.task == ParityTask::dropless, has("dropless"));
    EXPECT_EQ(layout.token_order == TokenOrder::contiguous, has("token-order=contiguous"));
    EXPECT_EQ(layout.token_order == TokenOrder::striped, has("token-order=striped"));
    EXPECT_NE(layout.token_order, TokenOrder::zigzag) << "the usual one";
    EXPECT_EQ(layout.by_price, has("by-price"));
    EXPECT_EQ(layout.shared_memory, !has("messages"));
    EXPECT_EQ(layout.policy.parameters == Reuse::keep, has("keep-parameters"));
    EXPECT_EQ(layout.policy.activations == Reuse::regather, has("regather-activations"));
    EXPECT_EQ(layout.schedule.fuse == ScheduleOptions::Fuse::always, has("fuse=always"));
    EXPECT_EQ(layout.schedule.overlap, !has("overlap=off"));
    EXPECT_EQ(layout.schedule.bundle_bytes == 0, has("bundles=none"));
  }
}

TEST(ParityLayout, RefusesNoRanks) { EXPECT_THROW(parity_meshes(0), UsageError); }

}  // namespace
}  // namespace shardline
