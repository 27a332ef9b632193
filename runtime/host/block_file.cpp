#include "runtime/host/block_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/result_error.h"

namespace shardline {
namespace {

std::string words_of(int error) { return std::generic_category().message(error); }

}  // namespace

BlockFile::BlockFile(std::string path, Use use)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), (use == Use::read ? O_RDONLY : O_WRONLY) | O_CLOEXEC)) {
  require(descriptor_ >= 0, "{}: cannot be opened: {}", path_, words_of(errno));
}

BlockFile::~BlockFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void BlockFile::write_at(Index offset, const void* data, std::size_t bytes) const {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(descriptor_, next, bytes, offset);
    if (written < 0 && errno == EINTR) continue;
    const std::string reason = written < 0 ? words_of(errno) : "no byte is taken";
    if (written <= 0) throw ResultError(fmt::format("{}: cannot be written: {}", path_, reason));
    next += written;
    offset += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void BlockFile::start_writing(Index offset, Index bytes) const {
  ::sync_file_range(descriptor_, offset, bytes, SYNC_FILE_RANGE_WRITE);
}

void BlockFile::read_at(Index offset, void* data, std::size_t bytes) const {
  auto* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::pread(descriptor_, next, bytes, offset);
    if (count < 0 && errno == EINTR) continue;
    const std::string reason = count < 0 ? words_of(errno) : "it ends too early";
    if (count <= 0) throw ResultError(fmt::format("{}: cannot be read: {}", path_, reason));
    next += count;
    offset += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

void BlockFile::expect(Index offset, Index bytes) const {
  ::posix_fadvise(descriptor_, offset, bytes, POSIX_FADV_WILLNEED);
}

void BlockFile::sync() const {
  if (::fsync(descriptor_) == 0) return;
  throw ResultError(fmt::format("{}: cannot be written: {}", path_, words_of(errno)));
}

}  // namespace shardline
