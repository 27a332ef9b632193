#include "collectives/shift.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/native.h"
#include "collectives/schedule_run.h"
#include "collectives/staging.h"

namespace shardline::collectives {
namespace {

std::shared_ptr<Operation> prepare_native(Job job, Index send_size, Index receive_size, Index offset) {
  const auto positions = static_cast<std::size_t>(job.positions());
  NativeExchange exchange{std::vector<Range>(positions), std::vector<Range>(positions)};
  const Index to = ring_position(job.position(), offset, job.positions());
  const Index from = ring_position(job.position(), -offset, job.positions());
  exchange.sends[static_cast<std::size_t>(to)] = {0, send_size};
  exchange.receives[static_cast<std::size_t>(from)] = {0, receive_size};
  return native_exchange(std::move(job), std::move(exchange));
}

}  // namespace

Schedule shift_schedule(Algorithm algorithm, Index send_size, Index receive_size, Index offset, Index positions,
                        Index position) {
  if (algorithm == Algorithm::native) no_schedule(algorithm, "shift");
  const Index to = ring_position(position, offset, positions);
  const Index from = ring_position(position, -offset, positions);
  Schedule schedule;
  if (to == position) return schedule;
  schedule.add(
      {{{to, {Buffer::input, {0, send_size}}}}, {{from, {Buffer::output, {0, receive_size}}, Action::copy, {}}}});
  return schedule;
}

Handle start_shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out,
                   const Options& options) {
  Job job = make_job(engine, "shift", axes, in, out);
  if (ring_position(0, offset, job.positions()) == 0) {
    check_shapes(job, in, out, {});
    if (in.bytes() > 0) std::memcpy(out.data(), in.data(), static_cast<std::size_t>(in.bytes()));
  }
  const Algorithm algorithm = algorithm_for(job, options);
  if (algorithm == Algorithm::native) {
    return engine.start(prepare_native(std::move(job), in.size(), out.size(), offset));
  }
  Schedule schedule = shift_schedule(algorithm, in.size(), out.size(), offset, job.positions(), job.position());
  return start_schedule(engine, std::move(job), std::move(schedule), options);
}

void shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out, const Options& options) {
  start_shift(engine, axes, in, offset, out, options).wait();
}

}  // namespace shardline::collectives
