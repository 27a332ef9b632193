#include "collectives/run/schedule_run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "collectives/schedule/schedule_order.h"
#include "kernels/reduce.h"
#include "runtime/base/check.h"

namespace shardline::collectives {
namespace {

constexpr Index kLargestSegment = Index{1} << 30;
constexpr Index kLargestWindow = 1024;

/// `range` of a piece, as a range of its buffer.
Range within(const Piece& piece, Range range) {
  return {piece.range.begin + range.begin, piece.range.begin + range.end};
}

}  // namespace

ScheduleRun::ScheduleRun(Job job, Schedule schedule, Segmenting segmenting, Engine& engine)
    : CollectiveRun(std::move(job)),
      schedule_(std::move(schedule)),
      segmenting_(segmenting),
      pool_(engine.scratch()),
      engine_(engine),
      partial_type_(this->job().wire == Wire::f32 ? DType::f32 : this->job().dtype),
      sent_(static_cast<std::size_t>(this->job().positions())),
      log_(engine.recording(), this->job(), schedule_.by_link) {
  require(segmenting.bytes >= 1 && segmenting.bytes <= kLargestSegment, "segment_bytes is {}; it is from 1 to {}",
          segmenting.bytes, kLargestSegment);
  require(segmenting.window >= 1 && segmenting.window <= kLargestWindow, "window is {}; it is from 1 to {} segments",
          segmenting.window, kLargestWindow);
  SHARDLINE_CHECK(schedule_.strands.size() <= kMostStrands, "a schedule of {} strands; {} are the most",
                  schedule_.strands.size(), kMostStrands);
  work_ = pool_.take(schedule_.work_size * size_of(partial_type_));
  if (work_ != nullptr) this->job().kept->push_back(work_);
  for (std::size_t i = 0; i < schedule_.strands.size(); ++i) {
    Progress& progress = progress_.emplace_back();
    progress.strand = &schedule_.strands[i];
    progress.tag = this->job().tag + static_cast<int>(i);
  }
  if (!this->job().fed) settled_.add(this->job().placed);
}

CollectiveRun::Outcome ScheduleRun::push() {
  bool moved = false;
  // Repeat while anything moves: a rank that computes polls seldom, and must leave the link with work.
  for (bool again = true; again; moved = moved || again) {
    again = false;
    bool complete = unsupplied() == 0;
    // Post all messages first, and add afterwards.
    for (Progress& progress : progress_) again = post(progress) || again;
    for (Progress& progress : progress_) {
      again = take(progress) || again;
      complete = complete && progress.complete();
    }
    if (complete) {
      work_.reset();
      log_.close();
      return Outcome::complete;
    }
  }
  return moved ? Outcome::moved : Outcome::idle;
}

bool ScheduleRun::post(Progress& progress) {
  if (progress.complete()) return false;
  bool moved = false;
  if (!progress.open) {
    if (!due((*progress.strand)[progress.round])) return false;
    open_round(progress);
    moved = true;
  }
  for (Lane& lane : progress.lanes) {
    while (may_post(lane)) {
      post_next(lane, progress.tag);
      moved = true;
    }
  }
  return moved;
}

bool ScheduleRun::take(Progress& progress) {
  if (!progress.open) return false;
  bool moved = false;
  bool complete = true;
  for (Lane& lane : progress.lanes) {
    moved = take_oldest(lane) || moved;
    complete = complete && lane.complete();
  }
  if (!complete) return moved;
  progress.open = false;
  ++progress.round;
  return true;
}

bool ScheduleRun::due(const Round& round) const {
  const bool all_done = std::all_of(round.needs.begin(), round.needs.end(), [&](const Need& need) {
    return progress_[static_cast<std::size_t>(need.strand)].round >= static_cast<std::size_t>(need.rounds);
  });
  return all_done && std::all_of(round.locals.begin(), round.locals.end(), [&](const Local& local) {
           return std::all_of(local.from.begin(), local.from.end(), [&](const Piece& piece) {
             return supplied(piece, {0, piece.size()});
           });
         });
}

bool ScheduleRun::may_post(const Lane& lane) const {
  if (lane.all_posted() || lane.posted == lane.completed + segmenting_.window) return false;
  const Segment& segment = lane.next_posted;
  if (!lane.sends) return true;
  return engine_.may_send(job()) && supplied(lane.transfers[segment.transfer].send->from, segment.range);
}

bool ScheduleRun::supplied(const Piece& piece, Range range) const {
  return !job().fed || piece.buffer != Buffer::input || supplied_.contains(within(piece, range));
}

Index ScheduleRun::unsupplied() const { return job().fed && !done() ? job().input_size - supplied_.size() : 0; }

void ScheduleRun::take_input(Range elements) {
  supplied_.add(elements);
  const Range placed{job().placed.begin + elements.begin,
                     std::min(job().placed.begin + elements.end, job().placed.end)};
  if (placed.size() <= 0) return;
  const Index item = job().element_size();
  const std::byte* from = job().input + elements.begin * item;
  std::byte* into = job().output + placed.begin * item;
  if (from != into) std::memcpy(into, from, static_cast<std::size_t>(placed.size() * item));
  settled_.add(placed);
}

bool ScheduleRun::has_settled(Range elements) const {
  // The place in a packed output differs from the place in the tensor.
  return elements.size() == 0 || (!job().finish && settled_.contains(elements));
}

std::vector<Range> ScheduleRun::reading_order() const { return collectives::reading_order(schedule_); }

std::vector<Range> ScheduleRun::arrival_order() const { return collectives::arrival_order(schedule_, job().placed); }

void ScheduleRun::open_round(Progress& progress) {
  const Round& round = (*progress.strand)[progress.round];
  for (const Local& local : round.locals) carry_out(local);
  progress.lanes.clear();
  // Receives first: MPI does not copy a message whose receive is already posted.
  for (const Receive& receive : round.receives) {
    add_transfer(progress, lane_for(progress, receive.peer, false), {nullptr, &receive, receive.into.size()});
  }
  for (const Send& send : round.sends) {
    add_transfer(progress, lane_for(progress, send.peer, true), {&send, nullptr, send.from.size()});
  }
  for (Lane& lane : progress.lanes) {
    lane.next_posted = first_segment(lane, 0);
    lane.next_completed = lane.next_posted;
    lane.requests.resize(static_cast<std::size_t>(segmenting_.window));
    lane.landing = pool_.take(segmenting_.window * lane.landing_bytes);
  }
  progress.open = true;
}

ScheduleRun::Lane& ScheduleRun::lane_for(Progress& progress, Index peer, bool sends) {
  for (Lane& lane : progress.lanes) {
    if (lane.peer == peer && lane.sends == sends) return lane;
  }
  Lane& lane = progress.lanes.emplace_back();
  lane.peer = peer;
  lane.sends = sends;
  return lane;
}

void ScheduleRun::add_transfer(const Progress& progress, Lane& lane, Transfer transfer) {
  if (transfer.elements > 0) {
    const Index bytes = transfer.elements * size_of(wire_type(transfer));
    transfer.message = log_.open(lane.peer, lane.sends, progress.tag - job().tag, bytes);
  }
  if (lands(transfer)) {
    lane.landing_bytes = std::max(lane.landing_bytes, cut(transfer, 0).size() * size_of(wire_type(transfer)));
  }
  lane.transfers.push_back(transfer);
}

void ScheduleRun::carry_out(const Local& local) {
  if (local.into.size() == 0) return;
  if (settles(local)) settled_.add(local.into.range);
  std::byte* into = write(local.into, 0);
  const Index divisor = local.last && job().op == ReduceOp::avg ? job().positions() : 1;
  const DType type = dtype_of(local.into);
  if (local.from.size() == 1 && divisor == 1 && dtype_of(local.from[0]) == type) {
    const std::byte* from = read(local.from[0], 0);
    if (from != into) std::memcpy(into, from, static_cast<std::size_t>(local.into.size() * size_of(type)));
    return;
  }
  std::vector<kernels::Source> sources;
  for (const Piece& piece : local.from) sources.push_back({dtype_of(piece), read(piece, 0)});
  kernels::combine(job().op, sources, {type, into}, local.into.size(), divisor);
}

void ScheduleRun::post_next(Lane& lane, int tag) {
  const Segment segment = lane.next_posted;
  const Transfer& transfer = lane.transfers[segment.transfer];
  const DType type = wire_type(transfer);
  const Index bytes = segment.range.size() * size_of(type);
  const Index k = lane.posted++;
  lane.next_posted = after(lane, segment);
  if (segment.range.begin == 0) log_.posted(transfer.message);
  mpi::Request& request = lane.requests[slot(k)];
  const mpi::Peer peer{job().group->ranks[static_cast<std::size_t>(lane.peer)], tag};
  if (!lane.sends) {
    std::byte* target = lands(transfer) ? landing(lane, k) : write(transfer.receive->into, segment.range.begin);
    request = mpi::irecv(*job().group->comm, {target, bytes, job().kept}, peer);
    return;
  }
  const std::byte* source = read(transfer.send->from, segment.range.begin);
  if (lands(transfer)) {
    const kernels::Source narrow{job().dtype, source};
    kernels::combine(job().op, {&narrow, 1}, {type, landing(lane, k)}, segment.range.size());
    source = landing(lane, k);
  }
  request = mpi::isend(*job().group->comm, {source, bytes, job().kept}, peer);
  engine_.sends(job()).posted(bytes);
  sent_[static_cast<std::size_t>(lane.peer)] += bytes;
}

bool ScheduleRun::take_oldest(Lane& lane) {
  if (lane.complete() || lane.completed == lane.posted) return false;
  const Index k = lane.completed;
  if (!lane.requests[slot(k)].test()) return false;
  const Segment segment = lane.next_completed;
  const Transfer& transfer = lane.transfers[segment.transfer];
  const bool adds = !lane.sends && transfer.receive->on_arrival == OnArrival::reduce;
  if (adds && !supplied(transfer.receive->operand, segment.range)) return false;
  ++lane.completed;
  lane.next_completed = after(lane, segment);
  if (segment.range.end == transfer.elements) log_.completed(transfer.message);
  if (lane.sends) {
    engine_.sends(job()).completed(segment.range.size() * size_of(wire_type(transfer)));
    return true;
  }
  if (adds || lands(transfer)) {
    place(*transfer.receive, segment.range,
          lands(transfer) ? landing(lane, k) : write(transfer.receive->into, segment.range.begin));
  }
  if (settles(*transfer.receive)) settled_.add(within(transfer.receive->into, segment.range));
  return true;
}

void ScheduleRun::place(const Receive& receive, Range range, const std::byte* arrived) {
  const kernels::Source received{receive.partial ? partial_type_ : job().dtype, arrived};
  const kernels::Target into{dtype_of(receive.into), write(receive.into, range.begin)};
  const Index divisor = receive.last && job().op == ReduceOp::avg ? job().positions() : 1;
  if (receive.on_arrival == OnArrival::copy) {
    kernels::combine(job().op, {&received, 1}, into, range.size(), divisor);
    return;
  }
  std::array<kernels::Source, 2> sources{{received, {dtype_of(receive.operand), read(receive.operand, range.begin)}}};
  if (receive.operand_first) std::swap(sources[0], sources[1]);
  kernels::combine(job().op, sources, into, range.size(), divisor);
}

ScheduleRun::Segment ScheduleRun::first_segment(const Lane& lane, std::size_t transfer) const {
  while (transfer < lane.transfers.size() && lane.transfers[transfer].elements == 0) ++transfer;
  if (transfer == lane.transfers.size()) return {transfer, {}};
  return {transfer, cut(lane.transfers[transfer], 0)};
}

ScheduleRun::Segment ScheduleRun::after(const Lane& lane, const Segment& segment) const {
  const Transfer& transfer = lane.transfers[segment.transfer];
  if (segment.range.end == transfer.elements) return first_segment(lane, segment.transfer + 1);
  return {segment.transfer, cut(transfer, segment.range.end)};
}

Range ScheduleRun::cut(const Transfer& transfer, Index begin) const {
  const Index elements = std::max<Index>(1, segmenting_.bytes / size_of(wire_type(transfer)));
  return {begin, std::min(begin + elements, transfer.elements)};
}

/// True if the message needs its own memory: its elements cannot be sent from, or received into, their place.
bool ScheduleRun::lands(const Transfer& transfer) const {
  if (transfer.elements == 0) return false;
  const DType type = wire_type(transfer);
  if (transfer.send != nullptr) return dtype_of(transfer.send->from) != type;
  const Receive& receive = *transfer.receive;
  return dtype_of(receive.into) != type ||
         (receive.on_arrival == OnArrival::reduce && read(receive.operand, 0) == write(receive.into, 0));
}

DType ScheduleRun::dtype_of(const Piece& piece) const {
  return piece.buffer == Buffer::work ? partial_type_ : job().dtype;
}

DType ScheduleRun::wire_type(const Transfer& transfer) const {
  const bool partial = transfer.send != nullptr ? transfer.send->partial : transfer.receive->partial;
  return partial ? partial_type_ : job().dtype;
}

const std::byte* ScheduleRun::read(const Piece& piece, Index offset) const {
  if (piece.buffer != Buffer::input) return write(piece, offset);
  return job().input + (piece.range.begin + offset) * job().element_size();
}

std::byte* ScheduleRun::write(const Piece& piece, Index offset) const {
  SHARDLINE_DEBUG_CHECK(piece.buffer != Buffer::input, "a schedule of {} writes its input", job().name);
  std::byte* base = piece.buffer == Buffer::output ? job().output : work_.get();
  return base + (piece.range.begin + offset) * size_of(dtype_of(piece));
}

std::byte* ScheduleRun::landing(const Lane& lane, Index k) const {
  return lane.landing.get() + static_cast<Index>(slot(k)) * lane.landing_bytes;
}

Index ScheduleRun::wire_bytes() const {
  if (schedule_.by_link) return sent_.empty() ? 0 : *std::max_element(sent_.begin(), sent_.end());
  return std::accumulate(sent_.begin(), sent_.end(), Index{0});
}

std::string ScheduleRun::missing() const {
  std::vector<std::string> waits;
  for (const Progress& progress : progress_) {
    for (const Lane& lane : progress.lanes) {
      if (lane.complete()) continue;
      waits.push_back(fmt::format("{} {} in round {} of {}", lane.sends ? "to send to" : "to receive from",
                                  job().peer(lane.peer), progress.round + 1, progress.strand->size()));
    }
  }
  if (unsupplied() > 0) waits.push_back(fmt::format("for {} elements of its input", unsupplied()));
  return fmt::format("it waits {}", fmt::join(waits, " and "));
}

Handle start_schedule(Engine& engine, Job job, Schedule schedule, const Options& options) {
  const ScheduleRun::Segmenting segmenting{
      options.segment_bytes != 0 ? options.segment_bytes : engine.tuning().segment_bytes(job.link),
      options.window != 0 ? options.window : kWindow};
  return engine.start(std::make_shared<ScheduleRun>(std::move(job), std::move(schedule), segmenting, engine));
}

}  // namespace shardline::collectives
