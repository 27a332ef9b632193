#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/mpi/communicator.h"

namespace shardline::mpi {

/// Memory that all ranks of a node read and write: one part per rank, each starting on a page. Neither moves nor
/// copies. Freeing is collective over the node; it happens in the destructor on the normal path and is skipped while an
/// exception unwinds or after MPI has ended.
class SharedWindow {
 public:
  /// Collective over `all`: a window per node with a part of `bytes` for every rank, its pages present.
  /// Throws UsageError on every rank alike, with the reason, when the ranks give different sizes or a node's parts need
  /// more than half of what is free where its MPI library keeps shared memory (touching more than there is would kill
  /// the process).
  SharedWindow(const Communicator& all, Index bytes);
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  /// The part of `rank` of the communicator that the window was made over; null when that rank is on another node.
  std::byte* part(Index rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  /// Bytes of a part.
  Index bytes() const { return bytes_; }
  /// The ranks of this node.
  const Communicator& node() const { return node_; }
  /// Leaves the memory mapped until the process ends. On every rank of the node or on none.
  void abandon() { window_ = MPI_WIN_NULL; }

 private:
  void find_parts(const Communicator& all);
  void make_pages_present(int own_rank) const;

  Communicator node_;
  Index bytes_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> parts_;  ///< by rank of the communicator that the window was made over
};

}  // namespace shardline::mpi
