#include "runtime/host/files.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

std::ptrdiff_t files_in(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

void write_whole(const std::string& path, const std::string& bytes) {
  WholeFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

TEST(Files, WritesAndReadsAnyBytes) {
  const TemporaryFolder folder;
  const std::string bytes("a\0\r\n\xff", 5);
  write_whole(folder.path("f"), bytes);
  EXPECT_EQ(read_file(folder.path("f")), bytes);
  write_whole(folder.path("f"), "");
  EXPECT_EQ(read_file(folder.path("f")), "");
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(Files, WithoutCommitTheOldFileStays) {
  const TemporaryFolder folder;
  const std::string path = folder.write("f", "old");
  {
    WholeFile file(path);
    file.write("new", 3);
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(Files, ASymbolicLinkKeepsPointing) {
  const TemporaryFolder folder;
  folder.write("real", "old");
  std::filesystem::create_symlink(folder.path("real"), folder.path("link"));
  write_whole(folder.path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(read_file(folder.path("real")), "new");
}

TEST(Files, ALinkToNoFileYetGetsOne) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("real", folder.path("link"));
  write_whole(folder.path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(read_file(folder.path("real")), "new");
}

TEST(Files, ATemporaryFileTakesNobodysName) {
  const TemporaryFolder folder;
  const std::string taken = folder.write(fmt::format("f.{}.tmp", ::getpid()), "of somebody else");
  write_whole(folder.path("f"), "new");
  EXPECT_EQ(read_file(taken), "of somebody else");
  EXPECT_EQ(read_file(folder.path("f")), "new");
}

TEST(Files, RefusalsNameTheFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(usage_error_of([&] { read_file(folder.path("none")); }), folder.path("none") + ": no such file");
  EXPECT_EQ(usage_error_of([&] { read_file(folder.path()); }).rfind(folder.path() + ": is a folder", 0), 0U);
  EXPECT_NE(usage_error_of([&] { WholeFile(folder.path("no/such/folder")); }).find("No such file"), std::string::npos);
  EXPECT_NE(usage_error_of([&] { WholeFile(folder.path()); }).find("not a regular file"), std::string::npos);
  EXPECT_NE(usage_error_of([&] { WholeFile("/dev/null"); }).find("not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace shardline
