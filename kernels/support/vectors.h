#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

/// Vectors of the processor, for kernels that keep sums in registers. Only kernel sources include this header.
namespace shardline::kernels {

#if defined(__AVX512F__)
inline constexpr Index kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr Index kVectorBytes = 32;
#else
inline constexpr Index kVectorBytes = 16;
#endif

template <class T, Index bytes>
struct VectorOf {
  // An alias template cannot carry the attribute.
  typedef T Type __attribute__((vector_size(bytes)));  // NOLINT(modernize-use-using)
  static constexpr Index kLanes = bytes / static_cast<Index>(sizeof(T));
};

#if defined(__x86_64__) && !defined(__AVX__)
/// For processors with more instructions than the build asks for. The BLAS detects them in the same
/// way.
template <class Kernel>
[[gnu::target("avx2,fma")]] void run_with_avx2(const Kernel& kernel) {
  kernel.template run<32>();
}
#endif

/// Calls kernel.run<bytes>() with the bytes of the widest vectors. All functions that it calls must be always_inline.
template <class Kernel>
void run_with_vectors(const Kernel& kernel) {
#if defined(__x86_64__) && !defined(__AVX__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (has_avx2) return run_with_avx2(kernel);
#endif
  kernel.template run<kVectorBytes>();
}

}  // namespace shardline::kernels
