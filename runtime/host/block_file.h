#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/shape.h"

namespace shardline {

/// A file that exists, of which several processes write or read different bytes. Messages have the path and the reason
/// that the system gives. No position is shared, so one object serves several readers.
class BlockFile {
 public:
  enum class Use : unsigned char { read, write };

  /// Throws UsageError if the file cannot be opened.
  BlockFile(std::string path, Use use);
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;
  ~BlockFile();

  const std::string& path() const { return path_; }
  /// Throws ResultError unless all bytes are written.
  void write_at(Index offset, const void* data, std::size_t bytes) const;
  /// Lets the disk begin with written bytes, so that sync() waits less. A hint: faults show in sync().
  void start_writing(Index offset, Index bytes) const;
  /// Throws ResultError unless all bytes are read: the file may have ended before.
  void read_at(Index offset, void* data, std::size_t bytes) const;
  /// Lets the disk begin to read bytes that will be asked for. A hint.
  void expect(Index offset, Index bytes) const;
  /// Forces the written bytes to the disk. Throws ResultError if this fails.
  void sync() const;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace shardline
