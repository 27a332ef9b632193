#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

#if defined(__AVX512BF16__) && defined(__AVX512VL__)
#include <immintrin.h>
#endif

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

/// Neighbouring elements of bf16, two in a lane.
template <Index bytes>
using PairsOf = typename VectorOf<std::uint32_t, bytes>::Type;

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

/// Loads a vector from any address.
template <class Vector, class T>
[[gnu::always_inline]] inline void load_vector(const T* from, Vector& vector) {
  // An alias declaration cannot carry the attributes.
  typedef Vector Anywhere __attribute__((aligned(alignof(T)), may_alias));  // NOLINT(modernize-use-using)
  Vector loaded = *reinterpret_cast<const Anywhere*>(from);
#if defined(__x86_64__)
  asm("" : "+v"(loaded));  // now it is in a register; GCC else reads it from memory again for each of its uses
#endif
  vector = loaded;
}

/// Asks for `elements` elements, to come into the L2 cache.
template <class T>
[[gnu::always_inline]] inline void prefetch(const T* from, Index elements) {
  constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
#pragma GCC unroll 8
  for (Index i = 0; i < elements; i += kLine) __builtin_prefetch(from + i, 0, 2);
}

/// Whether the processor multiplies pairs of bf16 and adds up in f32, with one instruction.
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
inline constexpr bool kMultipliesPairs = true;

/// sum += a b, for both elements of a lane.
template <Index bytes, class Sums>
[[gnu::always_inline]] inline void add_pairs(const PairsOf<bytes>& a, const PairsOf<bytes>& b, Sums& sum) {
  if constexpr (bytes == 64) {
    sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  } else if constexpr (bytes == 32) {
    sum = _mm256_dpbf16_ps(sum, reinterpret_cast<__m256bh>(a), reinterpret_cast<__m256bh>(b));
  } else {
    sum = _mm_dpbf16_ps(sum, reinterpret_cast<__m128bh>(a), reinterpret_cast<__m128bh>(b));
  }
}
#else
inline constexpr bool kMultipliesPairs = false;

template <Index bytes, class Sums>
void add_pairs(const PairsOf<bytes>& a, const PairsOf<bytes>& b, Sums& sum) = delete;
#endif

}  // namespace shardline::kernels
