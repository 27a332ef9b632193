#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "collectives/shared/arena_blocks.h"
#include "collectives/shared/direct_flags.h"
#include "runtime/layout/tensor.h"
#include "runtime/mesh/mesh.h"
#include "runtime/mpi/shared_window.h"

namespace shardline::collectives {

/// Memory for tensors that the ranks of a node read from each other, with algorithm `direct`: one window per node of a
/// mesh, one part per rank, the flags of `direct` runs beside the tensors.
class Arena {
 public:
  /// Collective over all ranks of `mesh`, which must outlive the arena: room for `bytes_per_rank` of tensors on each.
  /// Throws UsageError on every rank alike when that is more than the node's shared memory may give (SharedWindow).
  Arena(const Mesh& mesh, Index bytes_per_rank);
  /// Collective over the ranks of a node. Tensors should be gone; where one is not, on whatever rank, its rank says so
  /// on standard error and the memory stays mapped until the process ends.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Collective over all ranks of the mesh, each of which may bring another shape; a block of the largest is taken on
  /// all. Elements are not initialised; an empty tensor too has an address in the arena. The memory returns when the
  /// last Tensor over it has gone on every rank, of which the ranks agree at their next allocation. Throws UsageError
  /// on every rank alike when it does not fit.
  Tensor allocate(DType dtype, Shape local);
  /// The same; nothing, on every rank alike, when it does not fit.
  std::optional<Tensor> try_allocate(DType dtype, Shape local);

  /// Whether the tensor lies in this rank's part of the arena.
  bool contains(const Tensor& tensor) const;
  /// Bytes of tensors that each rank has room for.
  Index capacity() const;
  /// Bytes that are taken, as the ranks have last agreed.
  Index taken() const;
  const Mesh& mesh() const { return mesh_; }

  // For runs of `direct`.

  /// The part of a rank of the mesh, null when it is on another node. Offsets within a part mean the same everywhere.
  std::byte* part(Index mesh_rank) const { return window_.part(mesh_rank); }
  /// The flags of a rank of the mesh for run `sequence` over an axis set.
  direct::Slot& slot(Index mesh_rank, Index axis_set, std::uint64_t sequence) const;
  /// This rank's count of runs over an axis set.
  direct::Sequence& sequence(Index axis_set) { return sequences_[static_cast<std::size_t>(axis_set)]; }
  /// A number for a set of axes of size larger than 1, in whatever order, the same on every rank.
  Index axis_set(const Axes& axes) const;

 private:
  /// Where a block of as many bytes as the largest that a rank asked for was taken, if it was.
  struct Place {
    Index bytes = 0;
    std::optional<Index> begin;
  };
  Place agree_on_place(Index own_bytes);
  Tensor tensor_at(Index begin, DType dtype, Shape local);

  const Mesh& mesh_;
  Axes moving_;                              ///< axes of size larger than 1
  std::vector<direct::Sequence> sequences_;  ///< by axis set
  Index control_bytes_;                      ///< of flags, at the beginning of each part
  mpi::SharedWindow window_;
  std::shared_ptr<ArenaBlocks> blocks_;  ///< shared with the tensors
};

/// Collective over the engine's mesh: makes an arena for the engine, of `bytes_per_rank`, the same on every rank.
/// Returns why there can be none, alike on every rank; empty when there is one now.
std::string give_arena(Engine& engine, Index bytes_per_rank);

}  // namespace shardline::collectives
