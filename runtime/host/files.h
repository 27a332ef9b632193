#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace shardline {

/// The bytes of a regular file. Throws UsageError, one line with the path and the reason, when it cannot be read, when
/// it is something else, such as a pipe that nobody writes to, and when it is a Git LFS pointer.
std::string read_file(const std::string& path);

/// The same of a file that describes something: a configuration, an index of weights, a machine. Throws UsageError also
/// when it has more than 64 MiB.
std::string read_description(const std::string& path);

/// Throws UsageError when the whole file at `path` is the text that Git LFS leaves in place of a large file. `bytes`
/// are its first 1024 bytes or more: a pointer is shorter.
void refuse_lfs_pointer(const std::string& path, std::string_view bytes);

/// The place to which a file written to `path` goes. Symbolic links are followed, also a last link to a file that does
/// not exist yet. Throws UsageError when links go round in circles.
std::filesystem::path place_behind_links(const std::string& path);

/// A file that appears whole or not at all: bytes go to a temporary file in the same folder, which commit() renames to
/// `path`. Without commit() the temporary file disappears and whatever was at `path` stays. Errors have the path and
/// the system's words.
class WholeFile {
 public:
  /// Throws UsageError when the folder cannot be written or `path` is there and not a regular file.
  explicit WholeFile(const std::string& path);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile();

  /// Throws ResultError when the bytes cannot be written, as on a full disk.
  void write(const void* data, std::size_t bytes);
  /// Forces the bytes to the disk and gives the file its name. Throws ResultError when it cannot.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace shardline
