#include "models/data/byte_data.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "runtime/host/files.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

std::string as_text(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }
std::string as_text(const std::vector<std::int32_t>& ids) { return {ids.begin(), ids.end()}; }

/// A text whose neighbouring bytes identify their position.
std::string numbered_text(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += fmt::format("{:05d}\n", i);
  return text;
}

TEST(Data, HoldsOutTheLastTenthOfEveryFile) {
  const TemporaryFolder folder;
  const std::string a = std::string(90, 'a') + std::string(10, 'A');
  const std::string b = std::string(9, 'b');  // too short for a held-out part
  const std::string c = std::string(18, 'c') + "C";
  const ByteData data({folder.write("a", a), folder.write("b", b), folder.write("c", c)}, 4, 1);
  EXPECT_EQ(as_text(data.training_text()), std::string(90, 'a') + b + std::string(18, 'c'));
  EXPECT_EQ(as_text(data.held_out_text()), "AAAAAAAAAAC");
}

TEST(Data, SamplesAreWindowsAndTheirContinuation) {
  const TemporaryFolder folder;
  const std::string text = numbered_text(200);
  const ByteData data({folder.write("f", text)}, 17, 5);
  const std::string training = text.substr(0, text.size() / 10 * 9);
  std::set<std::string> different;
  for (Index i = 0; i < 300; ++i) {
    const Sample sample = data.training_sample(i);
    ASSERT_EQ(sample.ids.size(), 17U);
    ASSERT_EQ(sample.labels.size(), 17U);
    const std::string window = as_text(sample.ids) + as_text(sample.labels).back();
    EXPECT_NE(training.find(window), std::string::npos) << window;
    EXPECT_EQ(as_text(sample.labels), window.substr(1));
    different.insert(window);
  }
  EXPECT_GT(different.size(), 200U);
}

TEST(Data, ASampleDependsOnSeedAndIndexAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.write("f", numbered_text(500));
  const ByteData one({path}, 8, 7);
  const ByteData same({path}, 8, 7);
  const ByteData other_seed({path}, 8, 8);
  for (Index i = 0; i < 5; ++i) static_cast<void>(same.training_sample(i));
  int equal = 0;
  for (Index i = 40; i > 0; --i) {
    EXPECT_EQ(one.training_sample(i).ids, same.training_sample(i).ids);
    equal += one.training_sample(i).ids == other_seed.training_sample(i).ids ? 1 : 0;
  }
  EXPECT_LT(equal, 5);
}

TEST(Data, EveryPlaceOfTheTrainingTextIsReached) {
  const TemporaryFolder folder;
  const ByteData data({folder.write("f", "0123456789abcdefghij")}, 1, 3);  // 18 bytes for training, 2 held out
  std::set<std::int32_t> firsts;
  for (Index i = 0; i < 1000; ++i) firsts.insert(data.training_sample(i).ids[0]);
  EXPECT_EQ(firsts.size(), 17U);
}

TEST(Data, ValidationWalksTheHeldOutText) {
  const TemporaryFolder folder;
  for (const int held_out : {5, 8, 9, 10, 12, 13}) {
    std::string text(static_cast<std::size_t>(held_out) * 9, '.');
    for (int i = 0; i < held_out; ++i) text += static_cast<char>('a' + i);
    const ByteData data({folder.write("f", text)}, 4, 1);
    std::string labels;
    for (Index i = 0; i < data.validation_samples(); ++i) {
      const Sample sample = data.validation_sample(i);
      EXPECT_EQ(sample.ids[0], 'a' + 4 * i);
      labels += as_text(sample.labels);
    }
    EXPECT_EQ(labels, as_text(data.held_out_text()).substr(1, static_cast<std::size_t>((held_out - 1) / 4 * 4)));
    EXPECT_THROW(static_cast<void>(data.validation_sample(data.validation_samples())), Error);
  }
}

TEST(Data, BytesAboveAsciiAreIdsUpTo255) {
  const TemporaryFolder folder;
  const ByteData data({folder.write("f", std::string(40, '\xff'))}, 2, 1);
  EXPECT_EQ(data.training_sample(0).ids, (std::vector<std::int32_t>{255, 255}));
}

TEST(Data, BigramLossByHand) {
  const std::vector<std::uint8_t> training = {'a', 'b', 'a', 'b', 'a', 'c'};  // ab twice, ba twice, ac once
  const std::vector<std::uint8_t> held_out = {'a', 'b', 'b', 'a'};
  const double expected = (-std::log(3.0 / 259) - std::log(1.0 / 258) - std::log(3.0 / 258)) / 3;
  EXPECT_NEAR(bigram_loss(training, held_out), expected, 1e-12);
  EXPECT_NEAR(bigram_loss({}, held_out), std::log(256.0), 1e-12);
}

TEST(Data, BigramLossIsOverTheLabelsOfTheWindows) {
  const TemporaryFolder folder;
  const ByteData data({folder.write("f", std::string(90, 'x') + "xyxyxyyyyy")}, 4, 1);
  ASSERT_EQ(data.validation_samples(), 2);
  const std::vector<std::uint8_t> first = {'x', 'y', 'x', 'y', 'x'};
  EXPECT_EQ(data.bigram_loss(1), bigram_loss(data.training_text(), first));
  EXPECT_EQ(data.bigram_loss(2), bigram_loss(data.training_text(), data.held_out_text().first(9)));
}

TEST(Data, RefusesFilesByName) {
  const TemporaryFolder folder;
  const std::string good = folder.write("good", numbered_text(100));
  const std::string empty = folder.write("empty", "");
  const std::string missing = folder.path("missing");
  EXPECT_NE(usage_error_of([&] { ByteData({good, missing}, 4, 1); }).find(missing), std::string::npos);
  EXPECT_NE(usage_error_of([&] { ByteData({good, empty}, 4, 1); }).find(empty + ": is empty"), std::string::npos);
  EXPECT_NE(usage_error_of([&] { ByteData({good, folder.path()}, 4, 1); }).find("folder"), std::string::npos);
  EXPECT_NE(usage_error_of([&] { ByteData({}, 4, 1); }).find("no data file"), std::string::npos);
  EXPECT_NE(usage_error_of([&] { ByteData({good}, 0, 1); }).find("0 tokens"), std::string::npos);
}

TEST(Data, RefusesTextTooShortForOneSequence) {
  const TemporaryFolder folder;
  const std::string path = folder.write("f", std::string(90, 'x'));  // 81 bytes for training, 9 held out
  EXPECT_EQ(ByteData({path}, 8, 1).validation_samples(), 1);
  const std::string message = usage_error_of([&] { ByteData({path}, 9, 1); });
  for (const char* part : {path.c_str(), "81 bytes", "9 held out", "at least 10"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(Data, DefaultCorpusIsSortedAndSkipsWhatIsBuiltOrHidden) {
  const TemporaryFolder folder;
  for (const char* name : {"z.md", "a.h", "sub/a.cpp", "sub/CMakeLists.txt", "sub.sh", "x.cmake", "a.o", "image.png",
                           ".git/a.md", "build/a.cpp", "sub/.hidden/a.h", "other/CMakeCache.txt", "other/a.h"}) {
    folder.write(name, "text");
  }
  folder.write("empty.md", "");
  std::vector<std::string> expected;
  for (const char* name : {"a.h", "sub.sh", "sub/CMakeLists.txt", "sub/a.cpp", "x.cmake", "z.md"}) {
    expected.push_back(folder.path(name));
  }
  const Corpus corpus = default_corpus(folder.path());
  EXPECT_EQ(corpus.files, expected);
  EXPECT_EQ(corpus.skipped, 0);
  EXPECT_NE(usage_error_of([&] { default_corpus(folder.path("none")); }).find("none"), std::string::npos);
  std::filesystem::create_directory(folder.path("bare"));
  EXPECT_NE(usage_error_of([&] { default_corpus(folder.path("bare")); }).find("bare: no sources"), std::string::npos);
}

/// Root ignores the permissions of files. So this is another user for a while.
class AsNobody {
 public:
  AsNobody() {
    if (::geteuid() == 0) changed_ = ::seteuid(65534) == 0;
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() {
    if (changed_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }

 private:
  bool changed_ = false;
};

TEST(Data, DefaultCorpusCountsWhatItSkips) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const std::vector<std::string> expected = {folder.write("a.md", "text"), folder.write("sub/b.h", "text")};
  fs::create_symlink("circle", folder.path("circle"));
  fs::create_symlink("two", folder.path("one.md"));
  fs::create_symlink("one.md", folder.path("two"));
  fs::create_symlink("..", folder.path("sub/up"));
  fs::create_symlink("nowhere", folder.path("dangling.md"));
  fs::create_symlink("nowhere", folder.path("dangling"));  // its name is not that of a text
  folder.write("new\nline.md", "text");
  folder.write("new\nline/c.md", "text");
  ASSERT_EQ(::mkfifo(folder.path("pipe.txt").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);  // its name is not that of a text
  Corpus corpus = default_corpus(folder.path());
  EXPECT_EQ(corpus.files, expected);
  EXPECT_EQ(corpus.skipped, 8);

  folder.write("closed/d.md", "text");
  fs::permissions(folder.path("closed"), fs::perms::none);
  fs::permissions(folder.write("secret.md", "text"), fs::perms::none);
  {
    const AsNobody nobody;
    corpus = default_corpus(folder.path());
  }
  fs::permissions(folder.path("closed"), fs::perms::owner_all);
  EXPECT_EQ(corpus.files, expected);
  EXPECT_EQ(corpus.skipped, 10);
}

TEST(Data, ReadsNothingThatIsNoFileAndWaitsForNothing) {
  const TemporaryFolder folder;
  const std::string good = folder.write("good", numbered_text(100));
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  const std::string pointer = folder.write("lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n");
  const auto refused = [&](const std::string& path) { return usage_error_of([&] { ByteData({good, path}, 4, 1); }); };
  EXPECT_EQ(refused(folder.path("pipe")), folder.path("pipe") + ": is a pipe, a regular file is needed");
  EXPECT_EQ(refused("/dev/zero"), "/dev/zero: is a device, a regular file is needed");
  EXPECT_EQ(refused(folder.path()), folder.path() + ": is a folder, a regular file is needed");
  EXPECT_EQ(refused(pointer), pointer + ": is a Git LFS pointer, not the file itself; git lfs pull fetches it");
}

}  // namespace
}  // namespace shardline
