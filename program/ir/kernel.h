#pragma once

#include <array>
#include <cstdint>
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

/// One phase of an operation on the block of it that a rank computes. `ranges` gives, for each index of the operation,
/// where the block lies in the whole.
struct PhaseBlock {
  const Program& program;
  const Operation& operation;
  const Phase& phase;
  const std::vector<Range>& ranges;

  /// Where the block lies along the index called `name`; throws Error when the operation has no such index.
  Range range(const std::string& name) const;
  /// The number of the last index of the first operand: norms and losses run over it.
  std::size_t last_index() const;
  /// Its whole size, and where the block lies along it.
  Index last_extent() const;
  Range last_range() const;
  /// A constant of the operation; throws Error when it has none of that name.
  double constant(const std::string& name) const;
  /// The block's shape of operand `k`, and its number of elements.
  Shape shape(std::size_t k) const;
  Index elements(std::size_t k) const { return element_count(shape(k)); }
  /// The bytes of an element of the first result.
  Index element_size() const;
};

/// The arrays of one call: this rank's blocks, in the order of the phase.
struct KernelArrays {
  const std::vector<const Tensor*>& operands;
  const std::vector<Tensor*>& results;
};

/// What a kernel is to programs, beside its function.
enum class KernelForm : std::uint8_t {
  call,     ///< printed by its name
  product,  ///< an einsum: printed as a product, may be cut into panels and become half of a collective matmul
  sum,      ///< printed as a sum
};

/// A local computation: what a rank runs on its blocks without talking to others. Execution, prices, memory, printing,
/// calibration and tests read this row; it stands in the file of its operation.
struct Kernel {
  std::string_view name;  ///< in printed programs, reports and machine files
  /// Runs it. Elements are f32 or f64 as the first result.
  void (*run)(const PhaseBlock& block, const KernelArrays& arrays) = nullptr;
  /// FLOPs and bytes of that call.
  kernels::Cost (*cost)(const PhaseBlock& block) = nullptr;
  KernelForm form = KernelForm::call;
  /// By result: the operand whose memory the result may take, or -1.
  std::array<int, 3> in_place{-1, -1, -1};
};

}  // namespace shardline
