#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace shardline {

/// The bytes of a regular file. Throws UsageError, one line with path and reason, if the file
/// cannot be read, is not a regular file (a pipe, for example), or is a Git LFS pointer.
std::string read_file(const std::string& path);

/// A descriptor that reads a regular file; the caller closes it. Throws UsageError as read_file() does if the file
/// cannot be opened or is not a regular file.
int open_regular_file(const std::string& path);

/// As read_file(), for a description: a configuration, an index of weights, a machine. Also throws
/// UsageError if the file has more than 64 MiB.
std::string read_description(const std::string& path);

/// Throws UsageError if the file at `path` is a Git LFS pointer: the text that stands in place of a
/// large file. `bytes` are its first 1024 bytes or more; a pointer is shorter.
void refuse_lfs_pointer(const std::string& path, std::string_view bytes);

/// The final place of a file written to `path`. Follows symbolic links, also a last link to a file
/// that does not exist yet. Throws UsageError if links form a circle.
std::filesystem::path place_behind_links(const std::string& path);

/// A file that appears whole or not at all. The bytes go to a temporary file in the same folder,
/// and commit() renames it to `path`. Without commit() the temporary file is removed and `path`
/// stays as it was. Error messages have the path and the reason that the system gives.
class WholeFile {
 public:
  /// Throws UsageError if the folder is not writable, or if `path` exists and is not a regular
  /// file.
  explicit WholeFile(const std::string& path);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile();

  /// Throws ResultError if the bytes cannot be written, for example on a full disk.
  void write(const void* data, std::size_t bytes);
  /// Makes room on the disk, so that the file has this many bytes. Others may then write into temporary(). Throws
  /// ResultError if there is no room.
  void resize(std::int64_t bytes);
  /// The name until commit().
  const std::string& temporary() const { return temporary_; }
  /// Forces the bytes to the disk and gives the file its name. Throws ResultError if this fails.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

/// Writes a file that appears whole or not at all. Throws as WholeFile does.
void write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace shardline
