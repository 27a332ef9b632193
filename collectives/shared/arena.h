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

/// Memory for tensors that the ranks of a node read from each other, for algorithm `direct`: one window per
/// node of a mesh, with one part per rank. A part also holds the flags of `direct` runs.
class Arena {
 public:
  /// Collective over all ranks of `mesh`, which must outlive the arena. Each rank gets room for
  /// `bytes_per_rank` of tensors. Throws UsageError on every rank if this exceeds the shared memory of a node
  /// (SharedWindow).
  Arena(const Mesh& mesh, Index bytes_per_rank);
  /// Collective over the ranks of a node. Destroy all tensors before. If a tensor is left on any rank, that
  /// rank reports it on standard error, and the memory stays mapped until the process ends.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Collective over all ranks of the mesh. Shapes may differ between ranks; all ranks take a block of the
  /// largest size. Elements are not initialised. An empty tensor also has an address in the arena. The memory
  /// returns after the last Tensor over it is gone on every rank. The ranks agree on this at their next
  /// allocation. Throws UsageError on every rank if the block does not fit.
  Tensor allocate(DType dtype, Shape local);
  /// The same, but empty on every rank if the block does not fit.
  std::optional<Tensor> try_allocate(DType dtype, Shape local);

  /// True if the tensor lies in this rank's part of the arena.
  bool contains(const Tensor& tensor) const;
  /// The size of the arena in bytes per rank.
  Index capacity() const;
  /// Taken bytes, by the last agreement of the ranks.
  Index taken() const;
  const Mesh& mesh() const { return mesh_; }

  // For runs of `direct`.

  /// The part of a rank of the mesh; null if it is on another node. An offset means the same in every part.
  std::byte* part(Index mesh_rank) const { return window_.part(mesh_rank); }
  /// The flags of a rank of the mesh for run `sequence` over an axis set.
  direct::Slot& slot(Index mesh_rank, Index axis_set, std::uint64_t sequence) const;
  /// This rank's count of runs over an axis set.
  direct::Sequence& sequence(Index axis_set) { return sequences_[static_cast<std::size_t>(axis_set)]; }
  /// A number for a set of axes of size larger than 1. It is the same on every rank and does not depend on the
  /// order.
  Index axis_set(const Axes& axes) const;

 private:
  /// The place of a block with the largest size of all ranks; empty if it did not fit.
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

/// Collective over the engine's mesh: makes an arena of `bytes_per_rank` for the engine, the same on every
/// rank. Returns the reason for a failure, the same on every rank; empty if the engine has an arena now.
std::string give_arena(Engine& engine, Index bytes_per_rank);

}  // namespace shardline::collectives
