#include "kernels/support/stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace shardline::kernels {

#ifdef __SSE2__

namespace {

constexpr Index kLine = 64;

void stream_line(const std::byte* from, std::byte* to) {
  const auto* words = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(words);
  const __m128i b = _mm_loadu_si128(words + 1);
  const __m128i c = _mm_loadu_si128(words + 2);
  const __m128i d = _mm_loadu_si128(words + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

}  // namespace

void stream_copy(const void* from, void* to, Index bytes) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  // Whole cache lines of the target. The bytes before and after them are copied as usual.
  const auto beyond = static_cast<Index>(reinterpret_cast<std::uintptr_t>(to) % static_cast<std::uintptr_t>(kLine));
  const Index head = std::min(bytes, (kLine - beyond) % kLine);
  const Index lines_end = head + (bytes - head) / kLine * kLine;
  if (head > 0) std::memcpy(target, source, static_cast<std::size_t>(head));
  for (Index at = head; at < lines_end; at += kLine) stream_line(source + at, target + at);
  if (lines_end < bytes) {
    std::memcpy(target + lines_end, source + lines_end, static_cast<std::size_t>(bytes - lines_end));
  }
}

void stream_fence() { _mm_sfence(); }

#else

void stream_copy(const void* from, void* to, Index bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void stream_fence() {}

#endif

}  // namespace shardline::kernels
