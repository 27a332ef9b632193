#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/mpi/communicator.h"

namespace shardline::mpi {

/// Memory that all ranks of a node read and write: one part per rank, each starting on a page. It
/// does not move or copy. To free it is collective over the node. The destructor frees it, but not
/// while an exception unwinds or after MPI has ended.
class SharedWindow {
 public:
  /// Collective over `all`: one window per node, with a part of `bytes` for every rank. All pages
  /// are present afterwards. Throws the same UsageError on every rank if the sizes differ between
  /// ranks, or if a node's parts need more than half of the free space of MPI's shared memory.
  /// Touching more memory than there is would kill the process.
  SharedWindow(const Communicator& all, Index bytes);
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  /// The part of `rank` in the communicator of the constructor. Null if that rank is on another
  /// node.
  std::byte* part(Index rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  /// Bytes of a part.
  Index bytes() const { return bytes_; }
  /// The ranks of this node.
  const Communicator& node() const { return node_; }
  /// Leaves the memory mapped until the process ends. All ranks of the node call it, or none.
  void abandon() { window_ = MPI_WIN_NULL; }

 private:
  void find_parts(const Communicator& all);
  void make_pages_present(int own_rank) const;

  Communicator node_;
  Index bytes_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> parts_;  ///< by rank in the communicator of the constructor
};

}  // namespace shardline::mpi
