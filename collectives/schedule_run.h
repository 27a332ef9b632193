#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "collectives/operation.h"
#include "collectives/options.h"
#include "collectives/progress.h"
#include "collectives/schedule.h"
#include "collectives/scratch.h"
#include "runtime/mpi/request.h"

namespace shardline::collectives {

/// Carries out a schedule over non-blocking messages. Every transfer is cut into segments, all on the operation's one
/// tag (MPI keeps messages between two ranks in order), and a bounded number of segments per transfer is in flight, so
/// that one segment is added while the next arrives. Copies arrive where they belong; a reduction arrives in its place
/// and the operand is added to it, or, in place, arrives in scratch and is added to the operand.
class ScheduleRun final : public Operation {
 public:
  /// Scratch for the schedule's work buffer comes from `pool`. Throws UsageError when `segment_bytes` is not legal.
  ScheduleRun(Job job, Schedule schedule, Index segment_bytes, ScratchPool& pool);

  std::string missing() const override;

  /// Segments of one transfer in flight.
  static constexpr Index kWindow = 4;

 private:
  /// One transfer of the current step. Segments are posted and completed in order.
  struct Lane {
    const Send* send = nullptr;  ///< exactly one of the two is set
    const Receive* receive = nullptr;
    Index elements = 0;
    Index segments = 0;
    Index posted = 0;
    Index completed = 0;
    std::array<mpi::Request, kWindow> requests;  ///< segment k in slot k mod kWindow
    std::shared_ptr<std::byte> landing;          ///< kWindow segments, for a reduction in place

    bool complete() const { return completed == segments; }
  };

  State step() override;
  void open_lanes();
  Lane make_lane(Index elements) const;
  /// Posts as many segments as the window allows. True when there was one.
  bool post(Lane& lane);
  void post_next(Lane& lane);
  /// Completes the oldest segment in flight if it is there. True when it was.
  bool take_oldest(Lane& lane);
  /// Elements of segment `k` within its transfer.
  Range segment(const Lane& lane, Index k) const;
  bool in_place(const Receive& receive) const;
  const std::byte* read(const Piece& piece, Index offset) const;
  std::byte* write(const Piece& piece, Index offset) const;
  std::byte* landing(const Lane& lane, Index k) const;

  Schedule schedule_;
  Index segment_elements_;
  ScratchPool& pool_;
  std::shared_ptr<std::byte> work_;
  std::size_t step_ = 0;
  bool open_ = false;  ///< lanes_ are those of step_
  std::vector<Lane> lanes_;
};

/// Takes a job that `schedule` carries out into flight.
Handle start_schedule(Engine& engine, Job job, Schedule schedule, const Options& options);

}  // namespace shardline::collectives
