#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline::mpi {

/// Owns an MPI communicator. It moves and never copies. To make one is collective over its ranks;
/// so is to free it. The destructor frees it, but not while an exception unwinds or after MPI has
/// ended.
class Communicator {
 public:
  /// Collective over all ranks of the job: a duplicate of MPI_COMM_WORLD.
  static Communicator world();
  /// Collective over this communicator.
  Communicator duplicate() const;
  /// Collective over this communicator: ranks with the same `color` share the result, ordered by `key`.
  Communicator split(int color, int key) const;
  /// Collective over this communicator: ranks that can share memory.
  Communicator split_by_node() const;
  /// Collective over `ranks` only: ranks of this communicator, in their new order.
  Communicator subgroup(const std::vector<int>& ranks) const;

  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  MPI_Comm get() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The first of the next `count` tags of this communicator. Tags wrap below MPI's limit. Ranks
  /// that call the same operations in the same order get the same tags.
  int next_tag(int count = 1) const;

  /// Collective over this communicator.
  void barrier() const;
  /// Collective over this communicator: gives the bytes of `root` to every rank. Only `root` needs
  /// to know the size.
  std::string broadcast(const std::string& bytes, int root) const;
  /// Collective over this communicator: every rank's bytes, in rank order. The sizes may differ.
  std::vector<std::string> all_gather_bytes(const std::string& bytes) const;
  /// Collective over this communicator: every rank's value, in rank order.
  std::vector<double> all_gather(double value) const;
  double sum(double value) const;
  double max(double value) const;
  double min(double value) const;

 private:
  explicit Communicator(MPI_Comm comm);
  void release() noexcept;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 0;
  mutable int tag_ = 0;
  int tag_limit_ = 0;
};

/// Collective over `comm`: runs `body` on `root` alone and returns its result on every rank. If it
/// throws, every rank throws the same error; UsageError and ResultError keep their type. So a file
/// that only one rank fails to read ends all ranks in the same way.
std::string on_root(const Communicator& comm, int root, const std::function<std::string()>& body);

/// Collective over `comm`: runs `body` on every rank. If it throws on some ranks, every rank throws the error of the
/// first of them, as on_root() does. If `body` communicates, a rank that fails must still take part.
void on_all(const Communicator& comm, const std::function<void()>& body);

}  // namespace shardline::mpi
