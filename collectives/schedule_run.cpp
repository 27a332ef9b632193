#include "collectives/schedule_run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "kernels/reduce.h"
#include "runtime/base/check.h"

namespace shardline::collectives {
namespace {

constexpr Index kDefaultSegmentBytes = 512 * 1024;
constexpr Index kLargestSegment = Index{1} << 30;

Index segment_elements(Index segment_bytes, Index element_size) {
  if (segment_bytes == 0) return std::max<Index>(1, kDefaultSegmentBytes / element_size);
  require(segment_bytes >= 1 && segment_bytes <= kLargestSegment, "segment_bytes is {}; it is from 1 to {}",
          segment_bytes, kLargestSegment);
  return std::max<Index>(1, segment_bytes / element_size);
}

}  // namespace

ScheduleRun::ScheduleRun(Job job, Schedule schedule, Index segment_bytes, ScratchPool& pool)
    : Operation(std::move(job)),
      schedule_(std::move(schedule)),
      segment_elements_(segment_elements(segment_bytes, this->job().element_size())),
      pool_(pool),
      work_(pool.take(schedule_.work_size * this->job().element_size())) {
  if (work_ != nullptr) this->job().kept->push_back(work_);
}

Operation::State ScheduleRun::step() {
  bool moved = false;
  while (step_ < schedule_.steps.size()) {
    if (!open_) {
      open_lanes();
      moved = true;
    }
    // Everything that can be under way is, before time goes into additions.
    for (Lane& lane : lanes_) moved = post(lane) || moved;
    bool complete = true;
    for (Lane& lane : lanes_) {
      moved = take_oldest(lane) || moved;
      complete = complete && lane.complete();
    }
    if (!complete) return moved ? State::moved : State::idle;
    open_ = false;
    ++step_;
  }
  lanes_.clear();
  work_.reset();
  return State::complete;
}

void ScheduleRun::open_lanes() {
  const Step& step = schedule_.steps[step_];
  lanes_.clear();
  // Receives first: a message that finds its place waiting is not copied on the way.
  for (const Receive& receive : step.receives) {
    Lane lane = make_lane(receive.into.size());
    lane.receive = &receive;
    if (in_place(receive)) {
      const Index elements = std::min(lane.elements, kWindow * segment_elements_);
      lane.landing = pool_.take(elements * job().element_size());
    }
    lanes_.push_back(std::move(lane));
  }
  for (const Send& send : step.sends) {
    Lane lane = make_lane(send.from.size());
    lane.send = &send;
    lanes_.push_back(std::move(lane));
  }
  open_ = true;
}

ScheduleRun::Lane ScheduleRun::make_lane(Index elements) const {
  Lane lane;
  lane.elements = elements;
  lane.segments = (elements + segment_elements_ - 1) / segment_elements_;
  return lane;
}

bool ScheduleRun::post(Lane& lane) {
  bool moved = false;
  while (lane.posted < lane.segments && lane.posted < lane.completed + kWindow) {
    post_next(lane);
    moved = true;
  }
  return moved;
}

void ScheduleRun::post_next(Lane& lane) {
  const Index k = lane.posted++;
  const Range range = segment(lane, k);
  const Index bytes = range.size() * job().element_size();
  mpi::Request& request = lane.requests[static_cast<std::size_t>(k % kWindow)];
  const auto rank = [&](Index position) {
    return mpi::Peer{job().group.ranks[static_cast<std::size_t>(position)], job().tag};
  };
  if (lane.send != nullptr) {
    request =
        mpi::isend(*job().group.comm, {read(lane.send->from, range.begin), bytes, job().kept}, rank(lane.send->peer));
    count_wire_bytes(bytes);
  } else if (lane.landing != nullptr) {
    request = mpi::irecv(*job().group.comm, {landing(lane, k), bytes, lane.landing}, rank(lane.receive->peer));
  } else {
    std::byte* target = write(lane.receive->into, range.begin);
    request = mpi::irecv(*job().group.comm, {target, bytes, job().kept}, rank(lane.receive->peer));
  }
}

bool ScheduleRun::take_oldest(Lane& lane) {
  if (lane.complete() || !lane.requests[static_cast<std::size_t>(lane.completed % kWindow)].test()) return false;
  const Index k = lane.completed++;
  if (lane.receive == nullptr || lane.receive->action == Action::copy) return true;
  const Range range = segment(lane, k);
  const std::byte* other = lane.landing != nullptr ? landing(lane, k) : read(lane.receive->operand, range.begin);
  std::byte* into = write(lane.receive->into, range.begin);
  const std::array<kernels::Operand, 2> operands{{{job().dtype, into}, {job().dtype, other}}};
  kernels::combine(job().op, operands, {job().dtype, into}, range.size());
  return true;
}

Range ScheduleRun::segment(const Lane& lane, Index k) const {
  return {k * segment_elements_, std::min((k + 1) * segment_elements_, lane.elements)};
}

bool ScheduleRun::in_place(const Receive& receive) const {
  return receive.action == Action::reduce && receive.into.size() > 0 &&
         read(receive.operand, 0) == write(receive.into, 0);
}

const std::byte* ScheduleRun::read(const Piece& piece, Index offset) const {
  const Index bytes = (piece.range.begin + offset) * job().element_size();
  return piece.buffer == Buffer::input ? job().input + bytes : write(piece, offset);
}

std::byte* ScheduleRun::write(const Piece& piece, Index offset) const {
  SHARDLINE_DEBUG_CHECK(piece.buffer != Buffer::input, "a schedule of {} writes its input", job().name);
  std::byte* base = piece.buffer == Buffer::output ? job().output : work_.get();
  return base + (piece.range.begin + offset) * job().element_size();
}

std::byte* ScheduleRun::landing(const Lane& lane, Index k) const {
  return lane.landing.get() + (k % kWindow) * segment_elements_ * job().element_size();
}

std::string ScheduleRun::missing() const {
  std::vector<std::string> waits;
  for (const Lane& lane : lanes_) {
    if (lane.complete()) continue;
    const bool sends = lane.send != nullptr;
    waits.push_back(fmt::format("{} {} (segment {} of {})", sends ? "to send to" : "to receive from",
                                job().peer(sends ? lane.send->peer : lane.receive->peer), lane.completed + 1,
                                lane.segments));
  }
  return fmt::format("in step {} of {} it waits {}", step_ + 1, schedule_.steps.size(), fmt::join(waits, " and "));
}

Handle start_schedule(Engine& engine, Job job, Schedule schedule, const Options& options) {
  return engine.start(
      std::make_shared<ScheduleRun>(std::move(job), std::move(schedule), options.segment_bytes, engine.scratch()));
}

}  // namespace shardline::collectives
