#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/options.h"
#include "collectives/tuning.h"
#include "runtime/axes.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/shape.h"
#include "runtime/base/units.h"
#include "runtime/mesh.h"

namespace shardline::collectives {

/// Everything an operation in flight knows beside how it is carried out: who takes part, the memory it reads and
/// writes, what keeps that memory alive, and what is left to do when the last message has arrived.
struct Job {
  std::string name;                ///< "all_gather"
  const Group* group = &nobody();  ///< over the axes whose size is not 1; of one rank, without communicator, if none
  int tag = 0;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  Algorithm algorithm = Algorithm::ring;  ///< never `automatic` once resolved
  Wire wire = Wire::automatic;            ///< of bf16 sums; automatic: there are none
  LinkKind link = LinkKind::node;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::shared_ptr<std::vector<std::shared_ptr<const void>>> kept;  ///< owners of all memory read and written
  std::function<void()> finish;                                    ///< unpacks; may be empty
  Index packed_bytes = 0;

  Index position() const { return group->position; }
  Index positions() const { return group->size(); }
  Index element_size() const { return size_of(dtype); }
  /// "all_gather over XY (tag 7)"
  std::string label() const;
  /// label() and the own position: "all_gather over XY (tag 7) on position 1 (mesh rank 4)".
  std::string label_here() const;
  /// "position 1 (mesh rank 4)"
  std::string peer(Index position) const;

  /// A group of no rank.
  static const Group& nobody();
};

/// A collective in flight: a state machine that never waits.
class Operation {
 public:
  explicit Operation(Job&& job) : job_(std::move(job)) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Moves what can be moved without waiting and finishes the operation with its last message. True when anything
  /// moved. Throws Error, with the operation named, on a fault of MPI or a message of a wrong size, and again at every
  /// later call: a failed operation never looks finished.
  bool advance();
  bool done() const { return done_; }
  /// When this rank saw that it was done.
  Seconds done_at() const { return done_at_; }
  const Job& job() const { return job_; }
  /// Bytes moved so far between this rank and others, in the direction that has most of them: handed to MPI, or read
  /// from peers; 0 for `native`, which does not tell.
  virtual Index wire_bytes() const { return 0; }
  /// What the operation waits for and from whom, for a person to read.
  virtual std::string missing() const = 0;

 protected:
  enum class State { idle, moved, complete };
  /// One round of advance().
  virtual State step() = 0;

 private:
  Job job_;
  bool done_ = false;
  Seconds done_at_;
  std::string failure_;
};

}  // namespace shardline::collectives
