#pragma once

#include <functional>
#include <vector>

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "runtime/base/reduce_op.h"
#include "runtime/layout/tensor.h"
#include "runtime/mesh/mesh.h"
#include "runtime/mpi/communicator.h"
#include "tools/product/exact_data.h"

namespace shardline::tools {

/// One collective on arrays of one size. `count` is the size in elements as nccl-tests means it: the gathered array of
/// an all_gather or reduce_scatter, what one rank holds of the others.
struct CaseSpec {
  collectives::Kind kind = collectives::Kind::all_gather;
  Axes axes;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  Index count = 0;
  std::uint64_t seed = 0;
};

/// True for the collectives that combine elements.
bool reduces(collectives::Kind kind);

/// A collective that can be run on data whose result is known: operand and result of this rank, blocks by the block
/// rule. An all_to_all moves the axes from the rows of an array, one for each position, to its columns, so that a rank
/// sends every other a chunk of its row; a shift goes to the next position.
class BenchCase {
 public:
  /// Talks to nobody. The mesh must outlive it.
  BenchCase(const Mesh& mesh, CaseSpec spec);

  const CaseSpec& spec() const { return spec_; }
  Index positions() const { return positions_; }
  const Shape& operand_shape() const { return operand_shape_; }
  const Shape& result_shape() const { return result_shape_; }
  /// Elements of the operand and of the result on the rank that holds most.
  Index largest_operand() const { return largest_operand_; }
  Index largest_result() const { return largest_result_; }

  /// Fills the operand of this rank.
  void fill(Tensor& operand) const;
  /// Elements of this rank's result that are not what they should be, by the formula of each element.
  Index wrong(const Tensor& result) const;
  /// Collective over the axes.
  collectives::Handle start(collectives::Engine& engine, const Tensor& operand, Tensor& result,
                            const collectives::Options& options) const;
  /// MPI's blocking collective on these arrays (collectives/native/native_call.h). `in_order` is that of
  /// group_in_order(), and must outlive it. Calling it is collective over the axes.
  std::function<void()> native_call(const mpi::Communicator& in_order, const Tensor& operand, Tensor& result) const;

 private:
  /// Elements that lie one after the other in the result: `place` there, those of `position` from `first` on.
  struct Run {
    Range place;
    Index position = 0;
    Index first = 0;
  };

  void lay_out(Index own_position);
  double operand_element(Index i) const;
  double result_element(const Run& run, Index i) const;

  CaseSpec spec_;
  Index positions_;
  ExactData data_;
  Shape operand_shape_;
  Shape result_shape_;
  Index largest_operand_ = 0;
  Index largest_result_ = 0;
  Run operand_;  ///< its place begins at 0
  std::vector<Run> result_;
  std::vector<Range> blocks_;  ///< of the array, by position
};

/// Collective over `world`: the ranks that differ from this one only on `axes`, ranked by position.
mpi::Communicator group_in_order(const mpi::Communicator& world, const Mesh& mesh, const Axes& axes);

}  // namespace shardline::tools
