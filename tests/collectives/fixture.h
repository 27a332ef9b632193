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

/// X alone on any number of ranks. On 4 and 6 ranks also two axes: each alone, and both in both orders.
std::vector<MeshCase> mesh_cases();

/// A mesh case with its mesh and engine.
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

/// Thins the checks of a test on more ranks than most machines have cores. It takes one of every `stride`, a
/// prime, so that all combinations of the innermost loops occur. Up to 3 ranks take all checks.
class Turns {
 public:
  explicit Turns(Index stride = 13) : stride_(world().size() <= 3 ? 1 : stride) {}
  bool taken() { return count_++ % stride_ == 0; }

 private:
  Index stride_;
  Index count_ = 0;
};

inline constexpr DType kAllDTypes[] = {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64};

/// Sizes of a dim near the number of positions, a prime, and 0.
std::vector<Index> interesting_sizes(Index positions);

/// Every algorithm of the collectives with the built-in segments. Algorithms with rounds also run with segments
/// of one or two elements. Also MPI's collectives.
std::vector<Options> all_options();
/// The options for reductions of `dtype`; bf16 over each of its wires.
std::vector<Options> reducing_options(DType dtype);
/// The options of a shift.
std::vector<Options> shift_options();
/// The options of a reshard.
std::vector<Options> reshard_options();
std::string describe(const Options& options);

/// An array of whole numbers from -8 to 8. Every element type holds them, and their sums over a few ranks are
/// exact in every order. The same `name` gives the same array on every rank.
Tensor whole_numbers(DType dtype, const Shape& shape, const std::string& name);

/// Combines arrays of whole numbers element by element, by plain loops in f64. Rounds an average to the element
/// type.
Tensor combine(ReduceOp op, const std::vector<Tensor>& arrays);

/// A tensor of bytes that no test expects.
Tensor spoiled(DType dtype, const Shape& shape);

bool same_bits(const Tensor& a, const Tensor& b);

/// An array and a tensor over one of its blocks. Both share storage.
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

/// Expects that `body` throws an Error whose message contains every one of `parts`.
void expect_refused(const std::function<void()>& body, const std::vector<std::string>& parts);

}  // namespace shardline::collectives
