#include "runtime/host/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/result_error.h"

namespace shardline {
namespace {

std::string words_of(int error) { return std::generic_category().message(error); }

/// The real place of a file written to `path`: behind symbolic links, which a rename would replace.
std::string target_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return place_behind_links(path).string();
  require(std::filesystem::is_regular_file(path, error), "{}: not a regular file, so it cannot be replaced whole",
          path);
  return std::filesystem::canonical(path).string();
}

/// Creates a new file beside `path`, and stores its name in `name`. Negative if it cannot.
int open_beside(const std::string& path, std::string& name) {
  constexpr int kTries = 100;
  int descriptor = -1;
  for (int i = 0; i < kTries; ++i) {
    name = fmt::format("{}.{}{}.tmp", path, ::getpid(), i == 0 ? "" : fmt::format("-{}", i));
    descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) break;
  }
  return descriptor;
}

/// The failed action on the file, and the reason.
std::string failure_text(const std::string& path, const char* action) {
  return fmt::format("{}: cannot be {}: {}", path, action, words_of(errno));
}

/// Makes the name survive a power cut, if the file system supports it.
void sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

/// A file descriptor that closes itself.
struct Descriptor {
  int number = -1;

  explicit Descriptor(int open) : number(open) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

/// The kind of something that is not a regular file.
const char* kind_of(mode_t mode) {
  return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/// Throws UsageError if the file has more than `most` bytes.
std::string read_at_most(const std::string& path, std::int64_t most) {
  const Descriptor file{open_regular_file(path)};
  struct stat status {};
  require(::fstat(file.number, &status) == 0, "{}: cannot be read: {}", path, words_of(errno));
  require(status.st_size <= most, "{}: has {} bytes; at most {} are read of such a file", path, status.st_size, most);
  std::string bytes;
  std::array<char, 1 << 16> piece{};
  while (true) {
    const ssize_t count = ::read(file.number, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    require(count >= 0, "{}: cannot be read: {}", path, words_of(errno));
    if (count == 0) break;
    bytes.append(piece.data(), static_cast<std::size_t>(count));
  }
  refuse_lfs_pointer(path, bytes);
  return bytes;
}

}  // namespace

int open_regular_file(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe waits for a writer.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  if (file.number < 0 && errno == ENOENT) usage_error("{}: no such file", path);
  require(file.number >= 0, "{}: cannot be opened: {}", path, words_of(errno));
  struct stat status {};
  require(::fstat(file.number, &status) == 0, "{}: cannot be read: {}", path, words_of(errno));
  require(S_ISREG(status.st_mode), "{}: is {}, a regular file is needed", path, kind_of(status.st_mode));
  return std::exchange(file.number, -1);
}

std::string read_file(const std::string& path) { return read_at_most(path, std::numeric_limits<std::int64_t>::max()); }

std::string read_description(const std::string& path) {
  constexpr std::int64_t kMost = std::int64_t{64} << 20;
  return read_at_most(path, kMost);
}

void refuse_lfs_pointer(const std::string& path, std::string_view bytes) {
  constexpr std::string_view kFirstLine = "version https://git-lfs.github.com/spec/";
  constexpr std::size_t kLongest = 1023;
  if (bytes.size() > kLongest || !bytes.starts_with(kFirstLine)) return;
  usage_error("{}: is a Git LFS pointer, not the file itself; git lfs pull fetches it", path);
}

std::filesystem::path place_behind_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // the limit of Linux
  std::filesystem::path place = path;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(place, error); ++links) {
    require(links < kMostLinks, "{}: symbolic links go round in circles", path);
    place = place.parent_path() / std::filesystem::read_symlink(place, error);
  }
  return place;
}

WholeFile::WholeFile(const std::string& path) : path_(target_of(path)), descriptor_(open_beside(path_, temporary_)) {
  if (descriptor_ < 0) throw UsageError(failure_text(path_, "created"));
}

WholeFile::~WholeFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  std::remove(temporary_.c_str());
}

void WholeFile::write(const void* data, std::size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw ResultError(failure_text(path_, "written"));
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void WholeFile::resize(std::int64_t bytes) {
  const int failure = bytes > 0 ? ::posix_fallocate(descriptor_, 0, bytes) : 0;
  if (failure == 0) return;
  errno = failure;
  throw ResultError(failure_text(path_, "written"));
}

void WholeFile::commit() {
  if (::fsync(descriptor_) != 0) throw ResultError(failure_text(path_, "written"));
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw ResultError(failure_text(path_, "renamed into place"));
  ::close(descriptor_);
  descriptor_ = -1;
  sync_folder_of(path_);
}

void write_whole_file(const std::string& path, std::string_view bytes) {
  WholeFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace shardline
