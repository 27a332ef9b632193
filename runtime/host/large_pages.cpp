#include "runtime/host/large_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

extern char _end;  // NOLINT: where the data of the program end; the heap lies behind it

namespace shardline {

void prefer_large_pages(const void* memory, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  const auto top = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const bool on_heap = first >= reinterpret_cast<std::uintptr_t>(&_end) && first < top;
  const std::uintptr_t begin = first / kLargePage * kLargePage;
  const std::uintptr_t end = on_heap ? top : (first + bytes + kLargePage - 1) / kLargePage * kLargePage;
  // This is advice: parts that are not mapped yet are left out, and a system without large pages refuses it.
  static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

}  // namespace shardline
