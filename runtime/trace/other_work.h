#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/host/cpu_times.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// The share of a job's cores that went to other work during a measurement: other processes, and
/// other virtual machines if the host tells. Cores are the CPUs that the ranks of a node may use.
class OtherWork {
 public:
  /// The node with the most other work.
  struct Node {
    double share = 0;  ///< of the time of its cores, from 0 to 1
    Index cores = 0;
    Index nodes = 1;  ///< nodes of the job
    int rank = 0;     ///< the lowest rank on the node
  };

  /// Collective over `world`, which must outlive this.
  explicit OtherWork(const mpi::Communicator& world);

  /// Collective over the ranks of the job: the begin and the end of a measured period.
  void begin();
  void end();

  /// Over all periods that have ended; equal on every rank. Nothing if no node can tell: the
  /// periods are shorter than 0.2 s together, or Linux shows no counters.
  const std::optional<Node>& busiest() const { return busiest_; }

 private:
  struct Reading {
    Seconds at;
    Seconds own;                    ///< CPU time of this rank
    std::optional<CpuTimes> times;  ///< on the lowest rank of each node
  };
  Reading read() const;
  void find_busiest();

  const mpi::Communicator* world_;
  mpi::Communicator node_;
  std::vector<int> cpus_;
  Index nodes_;
  Reading begun_;
  CpuUse use_;
  bool counted_ = true;  ///< every reading so far had counters
  std::optional<Node> busiest_;
};

}  // namespace shardline
