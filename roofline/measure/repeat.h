#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/statistics.h"
#include "runtime/base/units.h"
#include "runtime/mpi/communicator.h"
#include "runtime/trace/clock.h"

namespace shardline::roofline {

/// How long and how often a measurement repeats its body.
struct Repetition {
  Seconds budget;  ///< for all runs; at least one run
  int least = 1;
  bool warm = true;  ///< one run first that does not count
};

/// The median time of one run of `body` by this rank alone.
template <class Body>
Seconds time_alone(const Repetition& repetition, Body body) {
  if (repetition.warm) body();
  std::vector<Seconds> times;
  const Seconds begin = now();
  while (static_cast<int>(times.size()) < repetition.least || now() - begin < repetition.budget) {
    const Seconds start = now();
    body();
    times.push_back(now() - start);
  }
  return median(std::move(times));
}

/// The same by all ranks at once, each at its own pace. Every rank returns the time of the slowest rank.
/// Collective over `comm`.
template <class Body>
Seconds time_busy(const mpi::Communicator& comm, const Repetition& repetition, Body body) {
  comm.barrier();
  return Seconds(comm.max(time_alone(repetition, body).value));
}

/// The same by rank 0 while the others sleep. Every rank returns it. Collective over `comm`.
template <class Body>
Seconds time_of_one(const mpi::Communicator& comm, const Repetition& repetition, Body body) {
  constexpr Seconds kNap{0.02};  // ranks in a barrier poll, and would disturb rank 0
  const bool mine = comm.rank() == 0;
  comm.barrier();
  const Seconds time = mine ? time_alone(repetition, body) : Seconds(0);
  if (!mine) std::this_thread::sleep_for(std::chrono::duration<double>((repetition.budget + kNap).value));
  return Seconds(comm.max(time.value));
}

/// The time of one run of `body`, which is collective over `comm`: the largest median of all ranks. Before each
/// run every rank does `prepare`, which does not count.
template <class Body, class Prepare>
Seconds time_together(const mpi::Communicator& comm, const Repetition& repetition, Body body, Prepare prepare) {
  const auto run = [&] {
    prepare();
    comm.barrier();
    const Seconds start = now();
    body();
    return now() - start;
  };
  run();  // the first touch of memory
  const Seconds begin = now();
  run();
  const Seconds once = Seconds(comm.max((now() - begin).value));
  const double enough = repetition.budget / std::max(once, Seconds(1e-7));
  const int runs = std::clamp(static_cast<int>(enough), repetition.least, 2000);
  std::vector<Seconds> times;
  for (int i = 0; i < runs; ++i) times.push_back(run());
  return Seconds(comm.max(median(std::move(times)).value));
}

template <class Body>
Seconds time_together(const mpi::Communicator& comm, const Repetition& repetition, Body body) {
  return time_together(comm, repetition, body, [] {});
}

}  // namespace shardline::roofline
