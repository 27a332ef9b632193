// A library that is loaded before the C library and makes one call of the system fail:
//
//   FAILING_CALL=rename:3        the third rename fails with EIO
//   FAILING_CALL=pwrite:2:torn   the second pwrite takes half of the bytes; the third finds the disk full
//   FAILING_RANK=1               only on this rank of the job

#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Fault {
  std::string call;
  int number = 0;
  bool torn = false;
};

bool on_this_rank() {
  const char* wanted = std::getenv("FAILING_RANK");
  if (wanted == nullptr) return true;
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    const char* rank = std::getenv(variable);
    if (rank != nullptr) return std::strcmp(rank, wanted) == 0;
  }
  return false;
}

Fault read_fault() {
  const char* text = std::getenv("FAILING_CALL");
  if (text == nullptr || !on_this_rank()) return {};
  const std::string fault = text;
  const std::size_t colon = fault.find(':');
  return {fault.substr(0, colon), std::atoi(fault.c_str() + colon + 1), fault.ends_with(":torn")};
}

const Fault& fault() {
  static const Fault read = read_fault();
  return read;
}

/// Counts a call; its distance from the one that fails.
int distance(const char* call) {
  static std::atomic<int> count{0};
  if (fault().call != call) return -1;
  return ++count - fault().number;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int failed(int reason) {
  errno = reason;
  return -1;
}

}  // namespace

extern "C" {

int rename(const char* from, const char* to) noexcept {
  static auto* call = real<int(const char*, const char*)>("rename");
  return distance("rename") == 0 ? failed(EIO) : call(from, to);
}

int fsync(int descriptor) {
  static auto* call = real<int(int)>("fsync");
  return distance("fsync") == 0 ? failed(EIO) : call(descriptor);
}

int posix_fallocate(int descriptor, off_t offset, off_t bytes) {
  static auto* call = real<int(int, off_t, off_t)>("posix_fallocate");
  return distance("posix_fallocate") == 0 ? ENOSPC : call(descriptor, offset, bytes);
}

ssize_t pwrite(int descriptor, const void* data, std::size_t bytes, off_t offset) {
  static auto* call = real<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  const int at = distance("pwrite");
  if (at == (fault().torn ? 1 : 0)) return failed(ENOSPC);
  return call(descriptor, data, at == 0 ? bytes / 2 : bytes, offset);
}
}
