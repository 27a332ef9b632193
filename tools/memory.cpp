#include "tools/memory.h"

#include <malloc.h>

namespace shardline::tools {

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);         // large arrays come from the heap, not from their own mapping,
  mallopt(M_TRIM_THRESHOLD, -1);  // and the top of the heap is never given back
#endif
}

}  // namespace shardline::tools
