#pragma once

namespace shardline {

/// Random tests make this part of their programs: all of them in an optimised build, a twentieth in a debug build,
/// where every program takes that much longer.
#ifdef NDEBUG
inline constexpr int kFewer = 1;
#else
inline constexpr int kFewer = 20;
#endif

}  // namespace shardline
