#pragma once

#include <cstddef>

namespace shardline {

/// Asks the system to hold these bytes in large pages (2 MiB on x86). If they lie on the heap, so does all of it from
/// there on, as later pieces of it share pages with them. A core then reads memory in order up to 1.6 times as fast on
/// a virtual machine, since it looks up fewer pages. Does nothing where the system has no such pages or gives none.
/// Pages that were touched before stay as they are.
void prefer_large_pages(const void* memory, std::size_t bytes);

}  // namespace shardline
