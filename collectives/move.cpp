#include "collectives/move.h"

#include <utility>

#include "collectives/run/schedule_run.h"
#include "collectives/run/staging.h"
#include "runtime/base/check.h"

// A move is a schedule of one round with one message, cut into segments. All segments are posted at once: between two
// polls a rank may compute for long, and what is posted moves meanwhile if the network can.

namespace shardline::collectives {
namespace {

constexpr Index kAllSegments = 1024;
/// MPI promises at least this many tags.
constexpr int kTags = 32767;

Handle start_move(Engine& engine, const std::string& name, const Axis& axis, Tensor array, const MovePeer& peer,
                  bool sends) {
  Job job = make_job(engine, name, {axis}, array, array);
  require(peer.position >= 0 && peer.position < job.positions() && peer.position != job.position(),
          "{} on axis {} of {} positions: position {} has no peer {}", name, axis, job.positions(), job.position(),
          peer.position);
  job.tag = peer.number % kTags;
  job.algorithm = Algorithm::ring;
  Schedule schedule{.strands = {{}}};
  if (sends) {
    schedule.strands[0].push_back({.sends = {{peer.position, {Buffer::input, {0, array.size()}}}}, .receives = {}});
  } else {
    schedule.strands[0].push_back({.sends = {}, .receives = {{peer.position, {Buffer::output, {0, array.size()}}}}});
  }
  return start_schedule(engine, std::move(job), std::move(schedule), {.window = kAllSegments});
}

}  // namespace

Handle start_send(Engine& engine, const Axis& axis, const Tensor& array, const MovePeer& to) {
  return start_move(engine, "send", axis, array, to, true);
}

Handle start_receive(Engine& engine, const Axis& axis, Tensor& array, const MovePeer& from) {
  return start_move(engine, "receive", axis, array, from, false);
}

}  // namespace shardline::collectives
