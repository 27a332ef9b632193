#pragma once

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "collectives/run/collective_run.h"
#include "runtime/trace/recording.h"

namespace shardline::collectives {

/// Notes the messages of one run for a Recording. Does nothing when there is no recording.
class MessageLog {
 public:
  /// What `open` gives when nobody records.
  static constexpr int kNone = -1;

  /// Made when a run starts. `along_ring`: its even strands go one way round, the odd strands the other way.
  MessageLog(Recording* recording, const Job& job, bool along_ring);

  /// A transfer with `peer`, a position of the group; its number for the calls below.
  int open(Index peer, bool sends, int strand, Index bytes) {
    return recording_ ? add(peer, sends, strand, bytes) : kNone;
  }
  void posted(int message) {
    if (message != kNone) messages_[static_cast<std::size_t>(message)].posted = now();
  }
  void completed(int message) {
    if (message != kNone) messages_[static_cast<std::size_t>(message)].completed = now();
  }
  /// Gives the messages to the recording. Called when the run is complete.
  void close();

 private:
  int add(Index peer, bool sends, int strand, Index bytes);

  Recording* recording_;
  const Group* group_;
  bool along_ring_;
  CollectiveNumber collective_;
  std::vector<Message> messages_;
  std::map<std::tuple<int, Index, bool>, int> counts_;  ///< by strand, peer and direction
};

}  // namespace shardline::collectives
