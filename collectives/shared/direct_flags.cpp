#include "collectives/shared/direct_flags.h"

#include "collectives/shared/arena.h"
#include "runtime/base/check.h"

namespace shardline::collectives::direct {
namespace {

bool reduces(Kind kind) { return kind == Kind::reduce_scatter || kind == Kind::all_reduce; }

/// "all_reduce (sum) of 12 f32"
std::string describe(const Call& call) {
  return fmt::format("{}{} of {} {}", name_of(call.kind),
                     reduces(call.kind) ? fmt::format(" ({})", name_of(call.op)) : "", call.elements,
                     name_of(call.dtype));
}

}  // namespace

std::uint64_t mix(std::uint64_t hash, Index value) {
  hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29U);
}

std::uint64_t mix(std::uint64_t hash, const Shape& shape) {
  for (const Index extent : shape) hash = mix(hash, extent);
  return hash;
}

Meeting::Meeting(Arena& arena, const Job& job, Call call)
    : arena_(arena),
      job_(job),
      call_(call),
      set_(arena.axis_set(job.group->axes)),
      sequence_(++arena.sequence(set_).last) {
  call_.op = job.op;
  call_.dtype = job.dtype;
  call_.position = job.group->position;
  call_.input = job.input - part(job.position());
  call_.output = job.output - part(job.position());
}

bool Meeting::start() {
  const std::uint64_t before = arena_.sequence(set_).completed[sequence_ % kSlots];
  if (before + kSlots < sequence_) return false;  // the last run in this slot has not completed
  Slot& own = slot(job_.position());
  own.call = call_;
  own.started.store(sequence_, std::memory_order_release);
  return true;
}

bool Meeting::started(Index position) const {
  const Slot& other = slot(position);
  if (other.started.load(std::memory_order_acquire) < sequence_) return false;
  check_agreement(position, other.call);
  return true;
}

void Meeting::say_combined() { slot(job_.position()).combined.store(sequence_, std::memory_order_release); }

bool Meeting::combined(Index position) const {
  return slot(position).combined.load(std::memory_order_acquire) >= sequence_;
}

void Meeting::say_finished() { slot(job_.position()).finished.store(sequence_, std::memory_order_release); }

bool Meeting::finished(Index position) const {
  return slot(position).finished.load(std::memory_order_acquire) >= sequence_;
}

void Meeting::leave() { arena_.sequence(set_).completed[sequence_ % kSlots] = sequence_; }

const std::byte* Meeting::input(Index position) const { return part(position) + slot(position).call.input; }
const std::byte* Meeting::output(Index position) const { return part(position) + slot(position).call.output; }

Slot& Meeting::slot(Index position) const {
  return arena_.slot(job_.group->mesh_ranks[static_cast<std::size_t>(position)], set_, sequence_);
}

std::byte* Meeting::part(Index position) const {
  return arena_.part(job_.group->mesh_ranks[static_cast<std::size_t>(position)]);
}

void Meeting::check_agreement(Index position, const Call& other) const {
  const bool same_call = other.kind == call_.kind && other.dtype == call_.dtype && other.position == position &&
                         (!reduces(call_.kind) || other.op == call_.op);
  const bool shifts = call_.kind == Kind::shift;
  if (same_call && other.layout == call_.layout && (shifts || other.elements == call_.elements)) {
    if (!shifts || other.elements == call_.wanted) return;
    throw Error(
        fmt::format("{} gives {} elements, {} were expected", job_.peer(position), other.elements, call_.wanted));
  }
  const bool looks_same = describe(other) == describe(call_);
  throw Error(fmt::format(
      "{} calls {}, but here {} is called{}; all ranks of a group call the same, with shapes that "
      "fit, over the same axes in the same order",
      job_.peer(position), describe(other), describe(call_), looks_same ? " with other shapes, dims or axes" : ""));
}

}  // namespace shardline::collectives::direct
