#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"
#include "runtime/layout/blocks.h"
#include "runtime/layout/tensor.h"
#include "runtime/mesh/mesh.h"
#include "runtime/mpi/communicator.h"

namespace shardline::collectives {

/// The whole job, made once.
const mpi::Communicator& world();

/// A mesh over the whole job and an ordered set of its axes to communicate over.
struct MeshCase {
  AbstractMesh mesh;
  Axes axes;
  std::string name() const { return mesh.to_string() + " over " + to_string(axes); }
};

/// X alone on any number of ranks; on 4 and 6 ranks also two axes, each alone and both in both orders.
std::vector<MeshCase> mesh_cases();

/// A mesh case brought to life.
struct Stage {
  explicit Stage(const MeshCase& mesh_case) : mesh(mesh_case.mesh, world()), engine(mesh), axes(mesh_case.axes) {}
  Mesh mesh;
  Engine engine;
  Axes axes;

  Index positions() const { return mesh.axes().size(axes); }
  Index position() const { return mesh.axes().position_in_group(mesh.rank(), axes); }
  std::vector<Index> group() const { return mesh.axes().group(mesh.rank(), axes); }
  /// This position's block of a dim of size `n`.
  Range block(Index n) const { return nested_block(n, axes, mesh.axes(), mesh.coordinates()); }
};

/// Thins the checks of a test where more ranks than most machines have cores take turns on them: takes one of every
/// `stride`, a prime, so that the innermost loops meet in every combination; up to 3 ranks all of them.
class Turns {
 public:
  explicit Turns(Index stride = 13) : stride_(world().size() <= 3 ? 1 : stride) {}
  bool taken() { return count_++ % stride_ == 0; }

 private:
  Index stride_;
  Index count_ = 0;
};

inline constexpr DType kAllDTypes[] = {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64};

/// Sizes of a dim around the number of positions, a prime, and none.
std::vector<Index> interesting_sizes(Index positions);

/// Every algorithm of the collectives with the built-in segments, those that go by rounds also with segments of an
/// element or two, and MPI's collectives.
std::vector<Options> all_options();
/// Those with which `dtype` is reduced; bf16 over each of its wires.
std::vector<Options> reducing_options(DType dtype);
/// Those of a shift.
std::vector<Options> shift_options();
/// Those of a reshard.
std::vector<Options> reshard_options();
std::string describe(const Options& options);

/// An array of whole numbers from -8 to 8, which every element type holds and whose sums over a few ranks are exact in
/// every order; the same for the same `name` on every rank.
Tensor whole_numbers(DType dtype, const Shape& shape, const std::string& name);

/// Element by element combination of arrays by plain loops in f64; the arrays hold whole numbers. An average is rounded
/// to the element type.
Tensor combine(ReduceOp op, const std::vector<Tensor>& arrays);

/// A tensor of bytes that no test expects.
Tensor spoiled(DType dtype, const Shape& shape);

bool same_bits(const Tensor& a, const Tensor& b);

/// `block` at its place along `dim` in a tensor of `shape`, which shares the storage of the second result.
struct InPlace {
  Tensor whole;
  Tensor block;
};
/// An array with a view of its block `range` along the first dim.
InPlace in_place(const Tensor& whole, Range range);

/// `tensor` cut to `range` along `dim`, copied.
Tensor cut_tensor(const Tensor& tensor, int dim, Range range);

/// Calls `check(stage)` for every mesh case.
void for_each_mesh(const std::function<void(Stage&)>& check);

/// A mesh of two axes over the whole job; X is of size 1 on an odd number of ranks.
AbstractMesh two_axes();

/// The message of the Error that `body` throws must hold every one of `parts`.
void expect_refused(const std::function<void()>& body, const std::vector<std::string>& parts);

}  // namespace shardline::collectives
