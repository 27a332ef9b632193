#include "collectives/shift.h"

#include <memory>
#include <utility>
#include <vector>

#include "collectives/native/native.h"
#include "collectives/run/schedule_run.h"
#include "collectives/run/staging.h"
#include "collectives/schedule/schedules.h"
#include "collectives/shared/direct.h"

// shift: every position sends its whole array `offset` places round the ring of positions. Here `offset` is 1:
//
//               position 0    position 1    position 2    position 3
//     in        A             B             C             D
//     round 1   A to 1        B to 2        C to 3        D to 0
//     out       D             A             B             C
//
// There is one round. A message goes straight to its receiver, also when `offset` is larger than 1. When `offset` is a
// multiple of the number of positions, each rank copies its own array. shared/direct.cpp draws `direct`, which sends no
// messages.

namespace shardline::collectives {
namespace {

Exchange with_one_peer(const Placement& placement, Index send_size, Index receive_size, Index offset) {
  const Index positions = placement.positions();
  Exchange exchange{std::vector<Range>(static_cast<std::size_t>(positions)),
                    std::vector<Range>(static_cast<std::size_t>(positions)),
                    {}};
  exchange.sends[static_cast<std::size_t>(ring_position(placement.position, offset, positions))] = {0, send_size};
  exchange.receives[static_cast<std::size_t>(ring_position(placement.position, -offset, positions))] = {0,
                                                                                                        receive_size};
  return exchange;
}

}  // namespace

Handle start_shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out,
                   const Options& options) {
  Job job = make_job(engine, "shift", axes, in, out);
  refuse_fed(job, options);
  const bool in_place = same_memory(job, in, out);
  const bool stays = ring_position(0, offset, job.positions()) == 0;
  const Question question{
      .kind = Kind::shift, .bytes = std::max(in.bytes(), out.bytes()), .direct = direct_possible(engine, job, in, out)};
  const Algorithm algorithm = stays ? Algorithm::ring : resolve(engine, job, question, options);
  if (algorithm == Algorithm::direct) return engine.start(direct_shift(engine, std::move(job), in, offset, out));
  if (stays) {
    check_shapes(job, in, out, {});
    place_whole(job, in, out);
  } else if (in_place) {
    pack_input(job, engine.scratch(), in, {whole(in.shape())});
  }
  const Placement placement = placement_of(job, engine.mesh());
  if (algorithm == Algorithm::native) {
    return start_native_exchange(engine, std::move(job), with_one_peer(placement, in.size(), out.size(), offset));
  }
  Schedule schedule = shift_schedule(algorithm, placement, in.size(), out.size(), offset);
  return start_schedule(engine, std::move(job), std::move(schedule), options);
}

void shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out, const Options& options) {
  start_shift(engine, axes, in, offset, out, options).wait();
}

}  // namespace shardline::collectives
