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

/// One collective on arrays of one size. `count` is the size in elements, as in nccl-tests: the
/// gathered array of an all_gather or reduce_scatter; for the others the array of one rank.
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

/// A collective on data with a known result: this rank's operand and result, blocks by the block
/// rule. An all_to_all moves the axes from the rows of an array (one per position) to its columns,
/// so a rank sends every other rank a chunk of its row. A shift goes to the next position.
class BenchCase {
 public:
  /// Does not communicate. The mesh must outlive it.
  BenchCase(const Mesh& mesh, CaseSpec spec);

  const CaseSpec& spec() const { return spec_; }
  Index positions() const { return positions_; }
  const Shape& operand_shape() const { return operand_shape_; }
  const Shape& result_shape() const { return result_shape_; }
  /// Elements of operand and result on the rank with the most.
  Index largest_operand() const { return largest_operand_; }
  Index largest_result() const { return largest_result_; }

  /// Fills the operand of this rank.
  void fill(Tensor& operand) const;
  /// The number of wrong elements in this rank's result, by a formula per element.
  Index wrong(const Tensor& result) const;
  /// Collective over the axes.
  collectives::Handle start(collectives::Engine& engine, const Tensor& operand, Tensor& result,
                            const collectives::Options& options) const;
  /// MPI's blocking collective on these arrays (collectives/native/native_call.h). `in_order` comes
  /// from group_in_order() and must outlive the call. To call it is collective over the axes.
  std::function<void()> native_call(const mpi::Communicator& in_order, const Tensor& operand, Tensor& result) const;

 private:
  /// Neighbouring elements of the result: `place` there, and their source, elements of `position`
  /// from `first` on.
  struct Strip {
    Range place;
    Index position = 0;
    Index first = 0;
  };

  void lay_out(Index own_position);
  double operand_element(Index i) const;
  double result_element(const Strip& strip, Index i) const;

  CaseSpec spec_;
  Index positions_;
  ExactData data_;
  Shape operand_shape_;
  Shape result_shape_;
  Index largest_operand_ = 0;
  Index largest_result_ = 0;
  Strip operand_;  ///< its place begins at 0
  std::vector<Strip> result_;
  std::vector<Range> blocks_;  ///< of the array, by position
};

/// Collective over `world`: the ranks that differ from this one only on `axes`, ranked by position.
mpi::Communicator group_in_order(const mpi::Communicator& world, const Mesh& mesh, const Axes& axes);

}  // namespace shardline::tools
