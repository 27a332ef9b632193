#include "kernels/einsum/loop_nest.h"

#include <algorithm>

#include "kernels/support/lanes.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

/// The number of elements of array `array` that the nest touches.
Index touched(const std::vector<Loop>& loops, std::size_t array) {
  Index count = 1;
  for (const Loop& loop : loops) {
    if (loop.strides[array] != 0) count *= loop.extent;
  }
  return count;
}

bool can_merge(const Loop& outer, const Loop& inner) {
  for (std::size_t array = 0; array < inner.strides.size(); ++array) {
    if (outer.strides[array] != inner.strides[array] * inner.extent) return false;
  }
  return true;
}

/// Orders the loops so that the largest array is walked in memory order. Then merges neighbours
/// that form one loop.
std::vector<Loop> arrange(std::vector<Loop> loops, std::size_t arrays) {
  std::size_t largest = 0;
  for (std::size_t array = 1; array < arrays; ++array) {
    if (touched(loops, array) > touched(loops, largest)) largest = array;
  }
  std::stable_sort(loops.begin(), loops.end(),
                   [&](const Loop& a, const Loop& b) { return a.strides[largest] > b.strides[largest]; });
  std::vector<Loop> merged;
  for (const Loop& loop : loops) {
    if (!merged.empty() && can_merge(merged.back(), loop)) {
      const Index extent = merged.back().extent * loop.extent;
      merged.back() = loop;
      merged.back().extent = extent;
    } else {
      merged.push_back(loop);
    }
  }
  return merged;
}

template <class S, class Count>
Lanes<SumOf<S>> load_strided(const S* from, Index stride, Index begin, Count count) {
  using T = SumOf<S>;
  if (stride == 1) return load(from + begin, count);
  if (stride == 0) return Lanes<T>::Constant(static_cast<T>(*from));
  Lanes<T> lanes = Lanes<T>::Zero();
  for (Index i = 0; i < count; ++i) lanes[i] = static_cast<T>(from[(begin + i) * stride]);
  return lanes;
}

/// The innermost loop. It overwrites the elements of `out` that it passes, or adds to them if
/// `adding`.
template <class S, class R>
void run_inner(const Loop& loop, std::span<const S* const> operands, const Offsets& offsets, bool adding, R* out) {
  using T = SumOf<S>;
  const auto product = [&](Index begin, auto count) {
    Lanes<T> lanes = load_strided(operands[0] + offsets[1], loop.strides[1], begin, count);
    for (std::size_t i = 1; i < operands.size(); ++i) {
      lanes *= load_strided(operands[i] + offsets[i + 1], loop.strides[i + 1], begin, count);
    }
    return lanes;
  };
  R* target = out + offsets[0];
  const Index stride = loop.strides[0];
  if (stride == 0) {
    *target = static_cast<R>(static_cast<T>(*target) + sum_lanes<T>(loop.extent, product));
    return;
  }
  for_lanes(loop.extent, [&](Index begin, auto count) {
    Lanes<T> lanes = product(begin, count);
    if (adding) lanes += load_strided(target, stride, begin, count);
    if (stride == 1) {
      store(lanes, target + begin, count);
    } else {
      for (Index i = 0; i < count; ++i) target[(begin + i) * stride] = static_cast<R>(lanes[i]);
    }
  });
}

}  // namespace

template <class R>
void clear_result(const std::vector<Loop>& loops, R* out) {
  std::vector<Loop> reaching;
  for (const Loop& loop : loops) {
    if (loop.strides[0] != 0) reaching.push_back({.extent = loop.extent, .strides = {loop.strides[0], 0, 0, 0}});
  }
  for_each_position(arrange(std::move(reaching), 1), {}, [&](const Offsets& offsets) { out[offsets[0]] = R{}; });
}

template <class S, class R>
void sum_of_products(std::vector<Loop> loops, std::span<const S* const> operands, R* out, bool accumulate) {
  const bool sums = std::any_of(loops.begin(), loops.end(), [](const Loop& loop) { return loop.strides[0] == 0; });
  const bool adding = sums || accumulate;
  SHARDLINE_CHECK(!adding || kDTypeOf<R> != DType::bf16, "a sum of {} operands in bf16", operands.size());
  if (sums && !accumulate) clear_result(loops, out);
  loops = arrange(std::move(loops), operands.size() + 1);
  if (loops.empty()) loops.push_back({.extent = 1, .strides = {1, 1, 1, 1}});
  const Loop inner = loops.back();
  loops.pop_back();
  for_each_position(loops, {}, [&](const Offsets& offsets) { run_inner(inner, operands, offsets, adding, out); });
}

template void sum_of_products(std::vector<Loop>, std::span<const float* const>, float*, bool);
template void sum_of_products(std::vector<Loop>, std::span<const double* const>, double*, bool);
template void sum_of_products(std::vector<Loop>, std::span<const BFloat16* const>, float*, bool);
template void sum_of_products(std::vector<Loop>, std::span<const float* const>, BFloat16*, bool);
template void sum_of_products(std::vector<Loop>, std::span<const BFloat16* const>, BFloat16*, bool);
template void clear_result(const std::vector<Loop>&, float*);
template void clear_result(const std::vector<Loop>&, BFloat16*);
template void clear_result(const std::vector<Loop>&, double*);

}  // namespace shardline::kernels
