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

/// All data of a collective in flight except its algorithm's state: the ranks that take part, the memory that
/// it reads and writes, the owners of this memory, and the work after the last message.
struct Job {
  std::string name;                ///< "all_gather"
  const Group* group = &nobody();  ///< over the axes whose size is not 1; without such axes: one rank, no communicator
  int tag = 0;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  Algorithm algorithm = Algorithm::ring;  ///< never `automatic` after resolve()
  Wire wire = Wire::automatic;            ///< of bf16 sums; automatic: no such sums
  LinkKind link = LinkKind::node;
  const std::byte* input = nullptr;
  Index input_size = 0;  ///< elements of the operand
  std::byte* output = nullptr;
  bool fed = false;  ///< see Options::fed
  Range placed;      ///< elements of the output that equal the input; a fed run copies them when they are supplied
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

/// A run: one collective in flight. A state machine that never waits.
class CollectiveRun {
 public:
  explicit CollectiveRun(Job&& job);
  virtual ~CollectiveRun() = default;
  CollectiveRun(const CollectiveRun&) = delete;
  CollectiveRun& operator=(const CollectiveRun&) = delete;

  /// Moves all data that can move without waiting, and finishes the run after its last message. True if
  /// anything moved. Throws Error that names the collective on a fault of MPI or a message of a wrong size.
  /// Every later call throws it again: a failed run never looks finished.
  bool advance();
  bool done() const { return done_; }
  const Job& job() const { return job_; }
  /// The time when the run was made, by now().
  Seconds started() const { return started_; }
  /// The time when advance() saw the end; valid after done().
  Seconds ended() const { return ended_; }
  /// See Handle.
  void supply(Range elements);
  bool arrived(Range elements) const;
  virtual std::vector<Range> reading_order() const { return {{0, job_.input_size}}; }
  virtual std::vector<Range> arrival_order() const { return {}; }
  /// Elements of a fed input that were not supplied.
  virtual Index unsupplied() const { return 0; }
  /// Bytes so far between this rank and others, in the direction with most of them: given to MPI, or read from
  /// peers. 0 for `native`: not known.
  virtual Index wire_bytes() const { return 0; }
  /// The missing messages or flags and their senders, as text.
  virtual std::string missing() const = 0;

 protected:
  enum class Outcome { idle, moved, complete };
  /// The work of one advance().
  virtual Outcome push() = 0;
  /// From now on the run may read these elements of a fed input. Called only before the run is done.
  virtual void take_input(Range elements);
  /// True if these elements of the output are final before the run is done.
  virtual bool has_settled(Range elements) const;

 private:
  Job job_;
  Seconds started_;
  Seconds ended_;
  bool done_ = false;
  std::string failure_;
};

}  // namespace shardline::collectives
