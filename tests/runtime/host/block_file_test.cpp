#include "runtime/host/block_file.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/host/files.h"

namespace shardline {
namespace {

class BlockFiles : public testing::Test {
 protected:
  BlockFiles() { std::ofstream(path_) << "0123456789"; }
  ~BlockFiles() override { std::filesystem::remove(path_); }

  std::string path_ = std::filesystem::temp_directory_path() / ("shardline_block_file_" + std::to_string(::getpid()));
};

TEST_F(BlockFiles, WriteAndReadAtAnyPlace) {
  {
    const BlockFile one(path_, BlockFile::Use::write);
    const BlockFile other(path_, BlockFile::Use::write);
    one.write_at(8, "abcd", 4);  // past the end
    other.write_at(1, "xy", 2);
    one.write_at(0, nullptr, 0);
    one.start_writing(0, 12);
    one.sync();
  }
  EXPECT_EQ(read_file(path_), "0xy34567abcd");
  const BlockFile file(path_, BlockFile::Use::read);
  std::string bytes(5, ' ');
  file.expect(2, 5);
  file.read_at(2, bytes.data(), bytes.size());
  EXPECT_EQ(bytes, "y3456");
}

TEST_F(BlockFiles, SayWhatFails) {
  const BlockFile file(path_, BlockFile::Use::read);
  std::string bytes(5, ' ');
  const auto fault = [&](const auto& body) {
    try {
      body();
    } catch (const ResultError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(fault([&] { file.read_at(6, bytes.data(), 5); }), path_ + ": cannot be read: it ends too early");
  EXPECT_EQ(fault([&] { file.write_at(0, "a", 1); }), path_ + ": cannot be written: Bad file descriptor");
  EXPECT_EQ(fault([&] { file.read_at(5, bytes.data(), 5); }), "none");
  EXPECT_THROW(BlockFile(path_ + ".none", BlockFile::Use::read), UsageError);
}

}  // namespace
}  // namespace shardline
