#include "roofline/measure/overhead_probe.h"

#include "roofline/measure/repeat.h"
#include "runtime/base/check.h"

namespace shardline::roofline {

Seconds probe_overhead(const mpi::Communicator& comm, Seconds budget, const OverheadSample& sample) {
  SHARDLINE_CHECK(sample.steps > 0, "a sample of {} steps", sample.steps);
  constexpr int kLeast = 10;
  return time_busy(comm, {.budget = budget, .least = kLeast}, sample.run) / sample.steps;
}

}  // namespace shardline::roofline
