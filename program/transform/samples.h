#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program/ir/kernel.h"
#include "program/ir/program.h"
#include "runtime/layout/tensor.h"

namespace shardline {

/// The sample of a kind of operation, with arrays in memory. The operation and its derivative form
/// one program. One rank can run its phases in order on whole arrays.
class SampleRun {
 public:
  /// Throws Error if there is no such kind.
  SampleRun(const std::string& kind, DType dtype);

  const Program& program() const { return program_; }
  /// What the operation makes: the derivative is that of the sum of its products with the last input.
  ArrayId result() const { return result_; }
  /// Runs a phase of an operation, both by number.
  void run(std::size_t operation, std::size_t phase);
  /// Runs all phases of all operations in order.
  void run_all();
  /// The elements of an array.
  Tensor& array(ArrayId id) { return arrays_.at(static_cast<std::size_t>(id)); }
  kernels::Cost cost(std::size_t operation, std::size_t phase) const;

 private:
  Program program_;
  ArrayId result_ = -1;
  std::vector<Tensor> arrays_;              ///< by array
  std::vector<std::vector<Range>> ranges_;  ///< by operation: the whole range of each index
};

/// Every kernel of every kind of operation, once, with elements of `dtype` (f32, f64 or bf16).
struct SampledKernel {
  const Kernel* kernel = nullptr;
  std::shared_ptr<SampleRun> run;  ///< shared by the kernels of an operation
  std::size_t operation = 0;
  std::size_t phase = 0;
};
std::vector<SampledKernel> sampled_kernels(DType dtype);

/// A program with the values of its inputs.
struct SampleProgram {
  Program program;
  std::map<ArrayId, Tensor> inputs;
};

/// Every kind of operation and its derivative, on a few elements, and a matrix product of extents `product` with its
/// derivative. The program has all of them `times` times, in turn.
SampleProgram sample_program(int times, Index product, DType dtype);

}  // namespace shardline
