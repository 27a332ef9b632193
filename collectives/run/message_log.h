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
  /// The result of `open` without a recording.
  static constexpr int kNone = -1;

  /// Make it when a run starts. `along_ring`: the even strands go one way round, the odd strands the other way.
  MessageLog(Recording* recording, const Job& job, bool along_ring);

  /// Adds a transfer with `peer`, a position of the group. Returns its number for the calls below.
  int open(Index peer, bool sends, int strand, Index bytes) {
    return recording_ ? add(peer, sends, strand, bytes) : kNone;
  }
  void posted(int message) {
    if (message != kNone) messages_[static_cast<std::size_t>(message)].posted = now();
  }
  void completed(int message) {
    if (message != kNone) messages_[static_cast<std::size_t>(message)].completed = now();
  }
  /// Gives the messages to the recording. Call it when the run is complete.
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
