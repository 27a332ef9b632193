#pragma once

namespace shardline {

/// Random tests make this part of their programs: all in an optimised build, a twentieth in a debug build,
/// which is that much slower.
#ifdef NDEBUG
inline constexpr int kFewer = 1;
#else
inline constexpr int kFewer = 20;
#endif

}  // namespace shardline
