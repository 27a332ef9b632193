#pragma once

namespace shardline::tools {

/// Tells malloc to keep memory that was freed. Otherwise every large array comes fresh from the system and each of its
/// pages costs a fault and a clearing at first touch, in every repetition of a step. Call it before anything is
/// allocated.
void keep_freed_memory();

}  // namespace shardline::tools
