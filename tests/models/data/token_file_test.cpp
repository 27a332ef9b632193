// The files are made here byte by byte.
#include "models/data/token_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/models/data/token_bytes.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

std::vector<std::uint32_t> tokens_of(const std::string& path) {
  const TokenFile file(path);
  std::vector<std::uint32_t> tokens;
  for (Index i = 0; i < file.tokens(); ++i) tokens.push_back(file.token(i));
  return tokens;
}

TEST(TokenFile, ReadsRawUint16) {
  const TemporaryFolder folder;
  const std::string bytes{"\x01\x00\xff\xff\x00\x80\x34\x12", 8};
  EXPECT_EQ(tokens_of(folder.write("a.bin", bytes)), (std::vector<std::uint32_t>{1, 65535, 32768, 0x1234}));
  EXPECT_EQ(tokens_of(folder.write("b.bin", bytes.substr(6))), (std::vector<std::uint32_t>{0x1234}));
}

TEST(TokenFile, ReadsBothKindsOfLlmC) {
  const TemporaryFolder folder;
  const std::vector<std::uint32_t> small{50256, 0, 7};
  EXPECT_EQ(tokens_of(folder.write("a.bin", header_of(20240520, 1, 3) + bytes_of(small, 2))), small);
  const std::vector<std::uint32_t> large{128000, 0, 0xfedcba98, 7};
  EXPECT_EQ(tokens_of(folder.write("b.bin", header_of(20240801, 7, 4) + bytes_of(large, 4))), large);
}

TEST(TokenFile, IsWrittenAsItIsRead) {
  EXPECT_EQ(token_width(65536), 2U);
  EXPECT_EQ(token_width(65537), 4U);
  EXPECT_EQ(token_header(3, 2), header_of(20240520, 1, 3));
  EXPECT_EQ(token_header(kMostTokensOfFile, 4), header_of(20240801, 7, 0xFFFFFFFF));
  EXPECT_EQ(packed_tokens({50256, 0, 65535}, 2), bytes_of({50256, 0, 65535}, 2));
  EXPECT_EQ(packed_tokens({128000, 7}, 4), bytes_of({128000, 7}, 4));
  EXPECT_THROW(token_header(kMostTokensOfFile + 1, 4), Error);
  EXPECT_THROW(token_header(1, 3), Error);
}

TEST(TokenFile, TokensOfMemory) {
  const TokenFile small("a", packed_tokens({50256, 1}, 2), 2);
  EXPECT_EQ(small.tokens(), 2);
  EXPECT_EQ(small.token(0), 50256U);
  EXPECT_EQ(small.token(1), 1U);
  // No header: the first token is that of a file of llm.c.
  EXPECT_EQ(TokenFile("b", packed_tokens({20240520, 1}, 4), 4).token(0), 20240520U);
  EXPECT_THROW(TokenFile("c", "", 2), UsageError);
}

TEST(TokenFile, TheLastTokenOfALargeFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("large.bin", "");
  const Index tokens = (Index{1} << 31) + 5;  // the file has a hole and takes no room
  ASSERT_EQ(::truncate(path.c_str(), 2 * (tokens - 1)), 0);
  std::ofstream(path, std::ios::binary | std::ios::app) << "\x39\x30";
  const TokenFile file(path);
  EXPECT_EQ(file.tokens(), tokens);
  EXPECT_EQ(file.token(tokens - 1), 12345U);
  EXPECT_EQ(file.token(tokens - 2), 0U);
}

TEST(TokenFile, RefusesWhatIsNoTokenFile) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& bytes, const std::string& reason) {
    const std::string path = folder.write("wrong.bin", bytes);
    const std::string message = usage_error_of([&] { TokenFile file(path); });
    EXPECT_TRUE(message.starts_with(path + ": ")) << message;
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  };
  const std::string three = bytes_of({1, 2, 3}, 2);
  refused("", "is empty");
  refused("abc", "has 3 bytes, an odd number");
  refused(header_of(20240520, 2, 3) + three, "with version 2; version 1 is read");
  refused(header_of(20240801, 1, 3) + bytes_of({1, 2, 3}, 4), "with version 1; version 7 is read");
  refused(header_of(20240520, 1, 4) + three, "says 4 tokens of 2 bytes, but 6 bytes follow");
  refused(header_of(20240520, 1, 2) + three, "says 2 tokens of 2 bytes, but 6 bytes follow");
  refused(header_of(20240520, 1, 3) + three + "x", "but 7 bytes follow");
  refused(header_of(20240801, 7, 3) + three, "says 3 tokens of 4 bytes, but 6 bytes follow");
  refused(header_of(20240520, 1, 0x80000003U) + three, "says 2147483651 tokens");
  refused(header_of(20240520, 1, 0), "its header alone has 1024");
  refused(header_of(20240520, 1, 3).substr(0, 100), "has 100 bytes; its header alone has 1024");
  refused("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 123456\n", "is a Git LFS pointer");
}

TEST(TokenFile, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_NE(usage_error_of([&] { TokenFile file(folder.path("none.bin")); }).find("no such file"), std::string::npos);
  EXPECT_NE(usage_error_of([&] { TokenFile file(folder.path()); }).find("is a folder"), std::string::npos);
  ASSERT_EQ(::mkfifo(folder.path("pipe.bin").c_str(), 0600), 0);
  EXPECT_NE(usage_error_of([&] { TokenFile file(folder.path("pipe.bin")); }).find("is a pipe"), std::string::npos);
}

}  // namespace
}  // namespace shardline
