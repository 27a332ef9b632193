#pragma once

#include <string>
#include <string_view>

namespace shardline {

/// The bytes of a regular file as memory. The system reads the pages that are used, so a file may be larger than the
/// memory. Processes of a node share the pages. The file must not get shorter as long as it is mapped: to use bytes
/// that are gone ends the process.
class MappedFile {
 public:
  /// Throws UsageError, one line with path and reason, if the file cannot be read, is not a regular file, or is a Git
  /// LFS pointer.
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace shardline
