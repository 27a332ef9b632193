#pragma once

#include <utility>

#include "runtime/base/units.h"
#include "runtime/layout/tensor.h"
#include "tools/bench/bench_case.h"

namespace shardline::tools {

/// The memory layout of operand and result of a case. Cold caches need several pairs. Every rank
/// gives a pair the same room: that of the largest one.
struct PairLayout {
  DType dtype = DType::f32;
  Shape operand;  ///< of this rank
  Shape result;
  Index operand_room = 0;  ///< bytes
  Index result_room = 0;
  Index pairs = 1;

  Index bytes() const { return pairs * (operand_room + result_room); }
};

/// One pair, or enough pairs to fill `cold` bytes.
PairLayout layout_of(const BenchCase& bench_case, Bytes cold);
/// The same for copies of arrays of the result's size: both arrays have its shape.
PairLayout copy_layout_of(const BenchCase& bench_case, Bytes cold);

/// Memory of this rank for operands and results.
class BenchMemory {
 public:
  /// Layouts use `memory`, which has room for the largest of them. `place`: "arena" or "heap".
  BenchMemory(Tensor memory, const char* place) : memory_(std::move(memory)), place_(place) {}

  Tensor operand(const PairLayout& layout, Index pair) const;
  Tensor result(const PairLayout& layout, Index pair) const;
  /// "arena": memory that ranks of a node share. "heap": memory of the normal allocator.
  const char* place() const { return place_; }

 private:
  Tensor part(DType dtype, const Shape& shape, Index offset) const;

  Tensor memory_;
  const char* place_;
};

/// The memory of a run.
struct BenchMemories {
  BenchMemory ours;    ///< in the engine's arena, if it has one
  BenchMemory native;  ///< on the heap, for the MPI library and plain copies
};

}  // namespace shardline::tools
