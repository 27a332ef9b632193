#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/support/cost.h"
#include "runtime/base/shape.h"
#include "runtime/layout/tensor.h"

namespace shardline {

struct Operation;
struct Phase;
struct Program;

/// One phase of an operation, and the block of it on one rank. `ranges` gives the position of the
/// block along each index of the operation.
struct PhaseBlock {
  const Program& program;
  const Operation& operation;
  const Phase& phase;
  const std::vector<Range>& ranges;
  /// Only of a kernel with `strips`: this is not the first strip.
  bool continues = false;

  /// The block's range along the index `name`. Throws Error if the operation has no such index.
  Range range(const std::string& name) const;
  /// The number of the last index of the first operand. Norms and losses run over it.
  std::size_t last_index() const;
  /// The logical size of that index, and the block's range along it.
  Index last_extent() const;
  Range last_range() const;
  /// A constant of the operation. Throws Error if there is none of this name.
  double constant(const std::string& name) const;
  /// The shape and the element count of the block of operand `k`.
  Shape shape(std::size_t k) const;
  Index elements(std::size_t k) const { return element_count(shape(k)); }
  /// The bytes of an element of the first result, and of operand `k`.
  Index element_size() const;
  Index operand_size(std::size_t k) const;
};

/// The arrays of one call: this rank's blocks, in the order of the phase.
struct KernelArrays {
  const std::vector<const Tensor*>& operands;
  const std::vector<Tensor*>& results;
};

/// How programs treat a kernel.
enum class KernelForm : std::uint8_t {
  call,      ///< printed by its name
  product,   ///< an einsum: printed as a product; may be cut into panels and be half of a collective matmul
  sum,       ///< printed as a sum
  products,  ///< a product for each position of an index; called, and printed by its name
};

/// The element types that a kernel runs on. Arrays of i32 are not counted.
enum class KernelTypes : std::uint8_t {
  same,     ///< all arrays f32, or all f64
  stored,   ///< all arrays of the type of the first operand, which may be bf16; sums of sum_type() of it
  product,  ///< as `same`, or all bf16; beside results of f32 an operand may be bf16
  any,      ///< each array has its own type
};

/// Operands or results of a kernel, by number.
class ArrayNumbers {
 public:
  constexpr ArrayNumbers() = default;
  constexpr ArrayNumbers(std::initializer_list<int> numbers) {
    for (const int number : numbers) bits_ |= 1U << static_cast<unsigned>(number);
  }
  constexpr bool has(int number) const { return (bits_ >> static_cast<unsigned>(number) & 1U) != 0; }

 private:
  unsigned bits_ = 0;
};

/// A kernel that can take the blocks of one of its indices one after another, in any order. Then these blocks need not
/// lie on the rank all at once. Between blocks there is a state: arrays of sums (see sum_type()).
struct BlockwiseKernel {
  std::string_view index;        ///< whose blocks come one after another
  std::string_view rows;         ///< an index that may be cut too; the blocks of its pieces do not meet
  std::array<int, 3> shaped_as;  ///< by array of the state: the result whose shape it has
  /// Of arrays that have `index`: they hold zeros before begin().
  void (*begin)(const std::vector<Tensor*>& state);
  /// Adds one block. The operands are those of the phase, cut to the block. The results are the state, cut too.
  void (*visit)(const KernelArrays& arrays);
  /// Makes the results. A result may lie in the memory of the first array of the state that has its shape, if it has
  /// the same type.
  void (*finish)(const std::vector<Tensor*>& state, const std::vector<Tensor*>& results);
};

/// A local computation: a rank runs it on its blocks, without messages. It stands in the file of
/// its operation. Execution, prices, memory, printing, calibration and tests use it.
struct Kernel {
  std::string_view name;  ///< in printed programs, reports and machine files
  /// Runs it. Elements are of the types that `types` says.
  void (*run)(const PhaseBlock& block, const KernelArrays& arrays) = nullptr;
  /// FLOPs and bytes of that call.
  kernels::Cost (*cost)(const PhaseBlock& block) = nullptr;
  KernelForm form = KernelForm::call;
  KernelTypes types = KernelTypes::same;
  /// Of KernelTypes::stored: the operands and results that hold sums, or are few and stay exact.
  ArrayNumbers sum_operands = {};
  ArrayNumbers sum_results = {};
  /// For each result: the operand whose memory the result may take, or -1.
  std::array<int, 3> in_place{-1, -1, -1};
  /// The first result must take that memory, and the call writes a part of it alone: a program in which it cannot is
  /// refused, see check_in_place().
  bool only_in_place = false;
  /// It may be called strip by strip over leading dims that its arrays share, with the same bits. A result without
  /// these dims is a sum over them, made row after row: with PhaseBlock::continues the call adds to it.
  bool strips = false;
  const BlockwiseKernel* blockwise = nullptr;  ///< null: it needs all blocks at once
};

}  // namespace shardline
