#include "runtime/host/resident_memory.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace shardline {
namespace {

/// The number of a line "\nKEY:   123 kB".
Bytes kilobytes_of(const std::string& status, const std::string& key) {
  const std::size_t at = status.find("\n" + key + ":");
  if (at == std::string::npos) return Bytes(0);
  return Bytes(1024 * std::strtod(status.c_str() + at + key.size() + 2, nullptr));
}

}  // namespace

Bytes resident_memory(const std::string& status) {
  return kilobytes_of(status, "RssAnon") + kilobytes_of(status, "RssShmem");
}

Bytes resident_memory() {
  std::ifstream file("/proc/self/status");
  return resident_memory(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace shardline
