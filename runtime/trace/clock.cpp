#include "runtime/trace/clock.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/mesh/mesh.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/request.h"

namespace shardline {
namespace {

/// Round trips with one rank. The first make the connection; some meet a rank that is not
/// scheduled.
constexpr int kRoundTrips = 24;

void send(const mpi::Communicator& comm, mpi::Peer to, Seconds time) {
  mpi::isend(comm, {reinterpret_cast<const std::byte*>(&time), sizeof time, nullptr}, to).wait();
}

Seconds receive(const mpi::Communicator& comm, mpi::Peer from) {
  Seconds time;
  mpi::irecv(comm, {reinterpret_cast<std::byte*>(&time), sizeof time, nullptr}, from).wait();
  return time;
}

/// On rank 0: asks `peer` for its time.
ClockReading ask(const mpi::Communicator& comm, mpi::Peer peer, const Clock& clock) {
  ClockReading best;
  for (int i = 0; i < kRoundTrips; ++i) {
    const Seconds begin = clock();
    send(comm, peer, begin);
    const Seconds there = receive(comm, peer);
    const Seconds end = clock();
    const Seconds half = (end - begin) / 2;
    if (i == 0 || half < best.uncertainty) best = {there, begin + half - there, half};
  }
  return best;
}

/// On the asked rank: answers ask() of rank 0.
void answer(const mpi::Communicator& comm, mpi::Peer peer, const Clock& clock) {
  for (int i = 0; i < kRoundTrips; ++i) {
    receive(comm, peer);
    send(comm, peer, clock());
  }
}

}  // namespace

Seconds now() {
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

ClockReading compare_clocks(const mpi::Communicator& comm, const std::vector<int>& clock_of, const Clock& clock) {
  SHARDLINE_CHECK(clock_of.size() == static_cast<std::size_t>(comm.size()) && clock_of[0] == 0,
                  "clocks of {} ranks, that of rank 0 first, given for {}", clock_of.size(), comm.size());
  const int tag = comm.next_tag();
  std::vector<ClockReading> readings(clock_of.size());
  readings[0].at = clock();
  for (int rank = 1; rank < comm.size(); ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const int asked = clock_of[at];
    SHARDLINE_CHECK(0 <= asked && asked <= rank, "the clock of rank {} is that of rank {}", rank, asked);
    if (asked != rank) {
      readings[at] = readings[static_cast<std::size_t>(asked)];
    } else if (comm.rank() == 0) {
      readings[at] = ask(comm, {rank, tag}, clock);
    } else if (comm.rank() == rank) {
      answer(comm, {0, tag}, clock);
    }
  }
  std::string bytes(readings.size() * sizeof(ClockReading), '\0');
  std::memcpy(bytes.data(), readings.data(), bytes.size());
  bytes = comm.broadcast(bytes, 0);
  ClockReading mine;
  std::memcpy(&mine, bytes.data() + static_cast<std::size_t>(comm.rank()) * sizeof mine, sizeof mine);
  return mine;
}

ClockReading compare_clocks(const Mesh& mesh) { return compare_clocks(mesh.comm(), mesh.nodes()); }

void ClockAlignment::add(const ClockReading& reading) {
  SHARDLINE_CHECK(readings_.empty() || reading.at >= readings_.back().at, "a clock read at {} s and then at {} s",
                  readings_.empty() ? 0 : readings_.back().at.value, reading.at.value);
  readings_.push_back(reading);
}

Seconds ClockAlignment::common(Seconds own) const {
  if (readings_.empty()) return own;
  const auto later = std::upper_bound(readings_.begin(), readings_.end(), own,
                                      [](Seconds time, const ClockReading& reading) { return time < reading.at; });
  if (later == readings_.begin()) return own + later->behind;
  const ClockReading& before = *(later - 1);
  if (later == readings_.end()) return own + before.behind;
  const double part = (own - before.at) / (later->at - before.at);
  return own + before.behind + (later->behind - before.behind) * part;
}

Seconds ClockAlignment::uncertainty() const {
  Seconds most;
  for (const ClockReading& reading : readings_) most = std::max(most, reading.uncertainty);
  return most;
}

}  // namespace shardline
