#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/schedule/options.h"
#include "collectives/schedule/tuning.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/shape.h"
#include "runtime/base/units.h"
#include "runtime/layout/axes.h"
#include "runtime/mesh/mesh.h"

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
  Index input_size = 0;  ///< elements of the operand
  std::byte* output = nullptr;
  bool fed = false;  ///< see Options::fed
  Range placed;      ///< of the output: elements that are the input itself; a fed operation copies them when supplied
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
  explicit Operation(Job&& job);
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Moves what can be moved without waiting and finishes the operation with its last message. True when anything
  /// moved. Throws Error, with the operation named, on a fault of MPI or a message of a wrong size, and again at every
  /// later call: a failed operation never looks finished.
  bool advance();
  bool done() const { return done_; }
  const Job& job() const { return job_; }
  /// When it was made, by now().
  Seconds started() const { return started_; }
  /// When advance() saw the end; once done().
  Seconds ended() const { return ended_; }
  /// See Handle.
  void supply(Range elements);
  bool arrived(Range elements) const;
  virtual std::vector<Range> reading_order() const { return {{0, job_.input_size}}; }
  virtual std::vector<Range> arrival_order() const { return {}; }
  /// Elements of a fed input that were not supplied.
  virtual Index unsupplied() const { return 0; }
  /// Bytes moved so far between this rank and others, in the direction that has most of them: handed to MPI, or read
  /// from peers; 0 for `native`, which does not tell.
  virtual Index wire_bytes() const { return 0; }
  /// What the operation waits for and from whom, for a person to read.
  virtual std::string missing() const = 0;

 protected:
  enum class State { idle, moved, complete };
  /// One round of advance().
  virtual State step() = 0;
  /// Elements of the fed input of an operation that is not done may be read from now on.
  virtual void take_input(Range elements);
  /// Whether elements of the output are there before the operation is done.
  virtual bool has_settled(Range elements) const;

 private:
  Job job_;
  Seconds started_;
  Seconds ended_;
  bool done_ = false;
  std::string failure_;
};

}  // namespace shardline::collectives
