#pragma once

namespace shardline::tools {

/// Tells malloc to keep freed memory. Otherwise every large array comes new from the system, and
/// the first touch of each page costs a page fault and a clearing, in every repetition of a step.
/// Call it before any allocation.
void keep_freed_memory();

}  // namespace shardline::tools
