#include "tools/memory.h"

#include <malloc.h>

#include <memory>

#include "runtime/host/large_pages.h"

namespace shardline::tools {

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);         // large arrays come from the heap, not from their own mapping,
  mallopt(M_TRIM_THRESHOLD, -1);  // and the top of the heap is never given back
  mallopt(M_TOP_PAD, 32 << 20);   // the heap grows by some large pages, of which only what is touched takes memory
  prefer_large_pages(std::make_unique<char>().get(), 1);
#endif
}

}  // namespace shardline::tools
