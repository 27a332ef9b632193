#pragma once

#include "runtime/base/units.h"
#include "runtime/tensor.h"
#include "tools/bench_case.h"

namespace shardline::tools {

/// How operand and result of a case lie in memory, in several pairs when it is measured with cold caches. Every rank
/// gives a pair the same room, that of the largest one.
struct PairLayout {
  DType dtype = DType::f32;
  Shape operand;  ///< of this rank
  Shape result;
  Index operand_room = 0;  ///< bytes
  Index result_room = 0;
  Index pairs = 1;

  Index bytes() const { return pairs * (operand_room + result_room); }
};

/// One pair, or as many as it takes to fill `cold` bytes.
PairLayout layout_of(const BenchCase& bench_case, Bytes cold);

/// The memory of all operands and results of a run, on this rank.
class BenchMemory {
 public:
  /// Room for layouts of up to `bytes`, which is the same on every rank.
  explicit BenchMemory(Index bytes);

  Tensor operand(const PairLayout& layout, Index pair) const;
  Tensor result(const PairLayout& layout, Index pair) const;

 private:
  Tensor part(DType dtype, const Shape& shape, Index offset) const;

  Tensor memory_;
};

}  // namespace shardline::tools
