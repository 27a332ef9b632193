#include "tools/bench/bench_memory.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "runtime/base/check.h"

namespace shardline::tools {
namespace {

/// The room of an array: its bytes, rounded up to whole cache lines.
Index room(Index elements, DType dtype) {
  constexpr Index kCacheLine = 64;
  return (elements * size_of(dtype) + kCacheLine - 1) / kCacheLine * kCacheLine;
}

/// `layout` with enough pairs to fill `cold` bytes.
PairLayout with_pairs(PairLayout layout, Bytes cold) {
  if (layout.bytes() > 0) {
    const double pairs = std::ceil(cold.value / static_cast<double>(layout.bytes()));
    layout.pairs = std::max<Index>(1, static_cast<Index>(pairs));
  }
  return layout;
}

}  // namespace

PairLayout layout_of(const BenchCase& bench_case, Bytes cold) {
  PairLayout layout;
  layout.dtype = bench_case.spec().dtype;
  layout.operand = bench_case.operand_shape();
  layout.result = bench_case.result_shape();
  layout.operand_room = room(bench_case.largest_operand(), layout.dtype);
  layout.result_room = room(bench_case.largest_result(), layout.dtype);
  return with_pairs(layout, cold);
}

PairLayout copy_layout_of(const BenchCase& bench_case, Bytes cold) {
  PairLayout layout = layout_of(bench_case, Bytes(0));
  layout.operand = layout.result;
  layout.operand_room = layout.result_room;
  return with_pairs(layout, cold);
}

Tensor BenchMemory::part(DType dtype, const Shape& shape, Index offset) const {
  SHARDLINE_CHECK(offset + element_count(shape) * size_of(dtype) <= memory_.bytes(),
                  "{} of {} from byte {} on are beyond {} bytes", to_string(shape), name_of(dtype), offset,
                  memory_.bytes());
  const auto owner = std::make_shared<Tensor>(memory_);
  return {dtype, shape, std::shared_ptr<std::byte>(owner, owner->data() + offset)};
}

Tensor BenchMemory::operand(const PairLayout& layout, Index pair) const {
  return part(layout.dtype, layout.operand, pair * (layout.operand_room + layout.result_room));
}

Tensor BenchMemory::result(const PairLayout& layout, Index pair) const {
  return part(layout.dtype, layout.result, pair * (layout.operand_room + layout.result_room) + layout.operand_room);
}

}  // namespace shardline::tools
