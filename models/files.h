#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardline {

/// The bytes of a regular file. Throws UsageError, one line with the path and the reason, when it cannot be read, when
/// it is something else, such as a pipe that nobody writes to, and when it is a Git LFS pointer.
std::string read_file(const std::string& path);

/// Throws UsageError when the whole file at `path` is the text that Git LFS leaves in place of a large file. `bytes`
/// are its first 1024 bytes or more: a pointer is shorter.
void refuse_lfs_pointer(const std::string& path, std::string_view bytes);

/// A file that appears whole or not at all: bytes go to a temporary file in the same folder, which commit() renames to
/// `path`. Without commit() the temporary file disappears and whatever was at `path` stays. Throws UsageError with the
/// path and the system's words when the folder cannot be written, the disk is full or `path` is not a regular file.
class WholeFile {
 public:
  explicit WholeFile(const std::string& path);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile();

  void write(const void* data, std::size_t bytes);
  /// Forces the bytes to the disk and gives the file its name.
  void commit();

 private:
  [[noreturn]] void fail(const char* action) const;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace shardline
