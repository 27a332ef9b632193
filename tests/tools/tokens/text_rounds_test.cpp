// Texts that several ranks encode in parts, against each text encoded whole by one tokenizer call.
#include "tools/tokens/text_rounds.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/mpi/communicator.h"
#include "tests/models/temporary_folder.h"
#include "tests/models/tokens/cutting_tokenizers.h"

namespace shardline::tools {
namespace {

/// What all rounds together gave, on every rank.
struct Encoded {
  Ids ids;
  std::vector<std::size_t> file_ends;
  Index documents = 0;
  Index rounds = 0;
};

/// Collective over all ranks.
Encoded encoded(const TextSeriesOptions& options, const nlohmann::json& file, Index block) {
  const mpi::Communicator world = mpi::Communicator::world();
  Tokenizer tokenizer = tokenizer_of(file);
  TextSeries series(options, tokenizer);
  Encoded all;
  encode_in_rounds(series, world, block, [&](const TextRound& round) {
    const EncodedPart& part = round.part;
    ++all.rounds;
    all.documents += round.documents;
    const std::string ids(reinterpret_cast<const char*>(part.ids.data()), part.ids.size() * sizeof(std::int32_t));
    const std::string ends(reinterpret_cast<const char*>(part.file_ends.data()),
                           part.file_ends.size() * sizeof(std::size_t));
    const std::vector<std::string> ids_of_ranks = world.all_gather_bytes(ids);
    const std::vector<std::string> ends_of_ranks = world.all_gather_bytes(ends);
    for (std::size_t rank = 0; rank < ids_of_ranks.size(); ++rank) {
      const std::size_t before = all.ids.size();
      const auto* end = reinterpret_cast<const std::size_t*>(ends_of_ranks[rank].data());
      for (std::size_t i = 0; i < ends_of_ranks[rank].size() / sizeof(std::size_t); ++i) {
        all.file_ends.push_back(before + end[i]);
      }
      const auto* first = reinterpret_cast<const std::int32_t*>(ids_of_ranks[rank].data());
      const std::size_t count = ids_of_ranks[rank].size() / sizeof(std::int32_t);
      EXPECT_EQ(static_cast<Index>(count), round.counts[rank]);
      all.ids.insert(all.ids.end(), first, first + count);
    }
  });
  return all;
}

/// The same folder on all ranks: rank 0 makes it.
class SharedFolder {
 public:
  SharedFolder() {
    const mpi::Communicator world = mpi::Communicator::world();
    if (world.rank() == 0) own_.emplace();
    path_ = world.broadcast(own_ ? own_->path() : "", 0);
  }
  ~SharedFolder() { mpi::Communicator::world().barrier(); }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  /// Collective over all ranks.
  std::string write(const std::string& name, const std::string& bytes) {
    if (own_) own_->write(name, bytes);
    mpi::Communicator::world().barrier();
    return path_ + "/" + name;
  }

 private:
  std::optional<TemporaryFolder> own_;
  std::string path_;
};

std::string long_text(std::mt19937& random, std::size_t pieces) {
  std::string text;
  while (pieces-- > 0) text += random_text(random);
  return text;
}

TEST(TextRounds, AllRanksTogetherGiveTheIdsOfWholeTexts) {
  SharedFolder folder;
  std::mt19937 random(11);
  int number = 0;
  for (const auto& [name, file] : cutting_tokenizers()) {
    const std::vector<std::string> texts{"", long_text(random, 6), long_text(random, 1), "",
                                         "", std::string(90, 'e'), long_text(random, 9), ""};
    TextSeriesOptions options{.files = {}, .json_lines = false, .end_token = 7};
    for (const std::string& text : texts) options.files.push_back(folder.write(fmt::format("{}", number++), text));
    Ids expected;
    std::vector<std::size_t> file_ends;
    for (const std::string& text : texts) {
      const Ids ids = tokenizer_of(file).encode(text);
      expected.insert(expected.end(), ids.begin(), ids.end());
      expected.push_back(7);
      file_ends.push_back(expected.size());
    }
    for (const Index block : {1, 2, 5, 17, 100, 5000}) {
      const Encoded all = encoded(options, file, block);
      ASSERT_EQ(all.ids, expected) << name << ", blocks of " << block;
      EXPECT_EQ(all.file_ends, file_ends) << name;
      EXPECT_EQ(all.documents, 8) << name;
    }
  }
}

/// With windows and rounds of real size: texts longer than both.
TEST(TextRounds, LargeTexts) {
  SharedFolder folder;
  std::mt19937 random(12);
  const auto files = cutting_tokenizers();
  const std::string text = long_text(random, 20000) + std::string(600000, 'e') + long_text(random, 3000);
  const TextSeriesOptions options{.files = {folder.write("large", text), folder.write("after", "the e\u0301")}};
  for (const std::size_t which : {std::size_t{0}, std::size_t{6}}) {
    Ids expected = tokenizer_of(files[which].second).encode(text);
    const Ids after = tokenizer_of(files[which].second).encode("the e\u0301");
    expected.insert(expected.end(), after.begin(), after.end());
    const Encoded all = encoded(options, files[which].second, 300000);
    ASSERT_EQ(all.ids, expected) << files[which].first;
    EXPECT_EQ(all.documents, 2);
  }
}

TEST(TextRounds, TextsThatCannotBeCutAreEncodedWhole) {
  SharedFolder folder;
  nlohmann::json file = cutting_tokenizer({split_by("(?<=t)h|e")}, false);
  const std::vector<std::string> texts{"the the the", "", "hhth", "tthee"};
  TextSeriesOptions options{.files = {}, .json_lines = false, .end_token = {}};
  Ids expected;
  for (const std::string& text : texts) {
    options.files.push_back(folder.write(fmt::format("{}", options.files.size()), text));
    const Ids ids = tokenizer_of(file).encode(text);
    expected.insert(expected.end(), ids.begin(), ids.end());
  }
  for (const Index block : {1, 3, 8, 100}) EXPECT_EQ(encoded(options, file, block).ids, expected);
}

TEST(TextRounds, LinesOfJsonAreDocuments) {
  SharedFolder folder;
  const nlohmann::json file = cutting_tokenizer({}, true);
  const std::string lines =
      "{\"text\": \"the the\", \"id\": 1}\n\n  \r\n{\"text\":\"e\u0301\\n\"}\r\n{\"text\": \"\"}\n" +
      std::string("{\"text\":\"last \xF0\x9F\x98\x80\"}");
  const TextSeriesOptions options{
      .files = {folder.write("a.jsonl", lines), folder.write("b.txt", "{the"), folder.write("c.jsonl", ""),
                folder.write("d.jsonl", "\n{\"text\": \"x\"}\n")},
      .json_lines = true,
      .end_token = 9};
  Ids expected;
  for (const char* text : {"the the", "e\u0301\n", "", "last \xF0\x9F\x98\x80", "{the", "x"}) {
    const Ids ids = tokenizer_of(file).encode(text);
    expected.insert(expected.end(), ids.begin(), ids.end());
    expected.push_back(9);
  }
  for (const Index block : {1, 4, 33, 1000}) {
    const Encoded all = encoded(options, file, block);
    EXPECT_EQ(all.ids, expected) << block;
    EXPECT_EQ(all.documents, 6);
    EXPECT_EQ(all.file_ends.size(), 4U);
  }
}

TEST(TextRounds, AWrongLineIsAnErrorOnAllRanks) {
  SharedFolder folder;
  const nlohmann::json file = made_tokenizer();
  for (const char* line : {"{\"text\": 1}", "{\"no\": \"x\"}", "[]", "x", "{\"text\": \"a\", \"text\": \"b\"}"}) {
    const std::string path = folder.write("wrong.jsonl", "{\"text\": \"x\"}\n" + std::string(line) + "\n");
    try {
      encoded({.files = {path}, .json_lines = true}, file, 10);
      ADD_FAILURE() << line;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("wrong.jsonl"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("the line at byte 14"), std::string::npos) << error.what();
    }
  }
}

TEST(TextRounds, ABlockIsBoundedForARankAndForAllTogether) {
  constexpr Index kMiB = 1 << 20;
  EXPECT_EQ(block_of_round(99, 4, 64 * kMiB), 25);
  EXPECT_EQ(block_of_round(5000 * kMiB, 4, 64 * kMiB), 4 * kMiB);
  EXPECT_EQ(block_of_round(5000 * kMiB, 32, 64 * kMiB), 2 * kMiB);
  EXPECT_EQ(block_of_round(5000 * kMiB, 100, 50), 1);
}

TEST(TextRounds, NoFilesGiveNoRound) { EXPECT_EQ(encoded({.files = {}}, made_tokenizer(), 5).rounds, 0); }

}  // namespace
}  // namespace shardline::tools
