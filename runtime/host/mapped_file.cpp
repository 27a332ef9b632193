#include "runtime/host/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "runtime/base/check.h"
#include "runtime/host/files.h"

namespace shardline {
namespace {

/// The mapped bytes of an open file, and an error number of the system, 0 for none. An empty file has no mapping.
std::string_view map(int descriptor, int& error) {
  struct stat status {};
  error = ::fstat(descriptor, &status) == 0 ? 0 : errno;
  if (error != 0 || status.st_size == 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* place = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  error = place != MAP_FAILED ? 0 : errno;
  return error == 0 ? std::string_view(static_cast<const char*>(place), size) : std::string_view();
}

void unmap(std::string_view bytes) {
  if (!bytes.empty()) ::munmap(const_cast<char*>(bytes.data()), bytes.size());
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int descriptor = open_regular_file(path);
  int error = 0;
  bytes_ = map(descriptor, error);
  ::close(descriptor);  // the mapping stays
  require(error == 0, "{}: cannot be mapped: {}", path, std::generic_category().message(error));
  try {
    refuse_lfs_pointer(path, bytes_);
  } catch (...) {
    unmap(bytes_);
    throw;
  }
}

MappedFile::~MappedFile() { unmap(bytes_); }

}  // namespace shardline
