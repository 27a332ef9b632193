#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/run/collective_run.h"
#include "collectives/run/message_log.h"
#include "collectives/run/progress.h"
#include "collectives/run/scratch.h"
#include "collectives/schedule/intervals.h"
#include "collectives/schedule/options.h"
#include "collectives/schedule/schedule.h"
#include "runtime/mpi/request.h"

namespace shardline::collectives {

/// Carries out a schedule with non-blocking messages. Every strand has its own tag. All transfers of a round
/// with one peer in one direction go one after the other, cut into segments. MPI keeps messages between two
/// ranks in order. A bounded number of segments is in flight, so one segment is added while the next arrives. A
/// copy arrives at its place. A reduction also arrives at its place, and then the operand is added to it. It
/// arrives in scratch if its place is the operand itself or has another element type.
class ScheduleRun final : public CollectiveRun {
 public:
  /// The cut of transfers: bytes of a segment, and the number of segments in flight with a peer in a direction.
  struct Segmenting {
    Index bytes = 0;
    Index window = kWindow;
  };

  /// The schedule's work buffer comes from the engine's pool. Messages go to its recording. Throws UsageError
  /// if `segmenting` is not legal.
  ScheduleRun(Job job, Schedule schedule, Segmenting segmenting, Engine& engine);

  std::string missing() const override;
  Index wire_bytes() const override;
  std::vector<Range> reading_order() const override;
  std::vector<Range> arrival_order() const override;
  Index unsupplied() const override;

 private:
  /// One transfer: exactly one of the two is set.
  struct Transfer {
    const Send* send = nullptr;
    const Receive* receive = nullptr;
    Index elements = 0;
    int message = MessageLog::kNone;
  };

  /// A segment of a lane: elements [begin, end) of a transfer.
  struct Segment {
    std::size_t transfer = 0;
    Range range;
  };

  /// The transfers of a round with one peer in one direction. Segments are posted and completed in order.
  struct Lane {
    Index peer = 0;
    bool sends = false;
    std::vector<Transfer> transfers;
    Segment next_posted;
    Segment next_completed;
    Index posted = 0;
    Index completed = 0;
    std::vector<mpi::Request> requests;  ///< segment k in slot k mod window
    Index landing_bytes = 0;             ///< the largest segment that needs landing memory
    std::shared_ptr<std::byte> landing;  ///< memory for a window of such segments

    bool all_posted() const { return next_posted.transfer == transfers.size(); }
    bool complete() const { return next_completed.transfer == transfers.size(); }
  };

  /// A strand and its present round.
  struct Progress {
    const Strand* strand = nullptr;
    int tag = 0;
    std::size_t round = 0;
    bool open = false;  ///< `lanes` are those of `round`
    std::vector<Lane> lanes;

    bool complete() const { return round == strand->size(); }
  };

  Outcome push() override;
  void take_input(Range elements) override;
  bool has_settled(Range elements) const override;
  /// Opens the strand's round if it is due, and posts all segments that may be in flight. True if anything
  /// moved.
  bool post(Progress& progress);
  /// Takes the segments that have arrived, and ends the round if it is complete. True if anything moved.
  bool take(Progress& progress);
  bool due(const Round& round) const;
  void open_round(Progress& progress);
  Lane& lane_for(Progress& progress, Index peer, bool sends);
  void add_transfer(const Progress& progress, Lane& lane, Transfer transfer);
  void carry_out(const Local& local);
  void post_next(Lane& lane, int tag);
  bool take_oldest(Lane& lane);
  /// False while `range` of a piece belongs to an input that was not supplied yet.
  bool supplied(const Piece& piece, Range range) const;
  /// True if the next segment of a lane may be posted.
  bool may_post(const Lane& lane) const;
  std::size_t slot(Index k) const { return static_cast<std::size_t>(k % segmenting_.window); }
  void place(const Receive& receive, Range range, const std::byte* arrived);
  /// The first segment of the first transfer from `transfer` on that has elements; none: transfer == transfers.size().
  Segment first_segment(const Lane& lane, std::size_t transfer) const;
  Segment after(const Lane& lane, const Segment& segment) const;
  Range cut(const Transfer& transfer, Index begin) const;

  bool lands(const Transfer& transfer) const;
  DType dtype_of(const Piece& piece) const;
  DType wire_type(const Transfer& transfer) const;
  const std::byte* read(const Piece& piece, Index offset) const;
  std::byte* write(const Piece& piece, Index offset) const;
  std::byte* landing(const Lane& lane, Index k) const;

  Schedule schedule_;
  Segmenting segmenting_;
  ScratchPool& pool_;
  Engine& engine_;
  DType partial_type_;  ///< of partial sums on the wire and of Buffer::work
  std::shared_ptr<std::byte> work_;
  std::vector<Progress> progress_;
  std::vector<Index> sent_;  ///< bytes, by peer
  Intervals supplied_;       ///< of a fed input
  Intervals settled_;        ///< of the output: elements that have their last value
  MessageLog log_;
};

/// Starts a job with this schedule.
Handle start_schedule(Engine& engine, Job job, Schedule schedule, const Options& options);

}  // namespace shardline::collectives
