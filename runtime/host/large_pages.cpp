#include "runtime/host/large_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace shardline {

void prefer_large_pages(const void* memory, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory) / kLargePage * kLargePage;
  const auto top = reinterpret_cast<std::uintptr_t>(sbrk(0));  // of the heap, which lies below all other memory
  std::uintptr_t end = reinterpret_cast<std::uintptr_t>(memory) + bytes;
  end = begin < top ? top : (end + kLargePage - 1) / kLargePage * kLargePage;
  // This is advice: parts that are not mapped yet are left out, and a system without large pages refuses it.
  static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

}  // namespace shardline
