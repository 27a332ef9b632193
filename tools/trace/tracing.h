#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/trace/recording.h"
#include "tools/job.h"
#include "tools/trace/trace_text.h"

namespace shardline::tools {

/// Adds the file of --trace, and the part file that each rank may leave.
void add_trace_files(CommandFiles& files, const std::string& path);

/// The trace of a command. It records the ranks during the command, and writes one file at the end.
/// A rank that stops early, by an error or a signal, leaves its events in a file PATH.rankN.part.
class Tracing {
 public:
  /// Collective over all ranks. `trace` has the labels and the clock of the recording, and must
  /// outlive this object. An empty path means no trace. `engine` is that of the ranks that run the same program. With
  /// stages it is that of the stage, and `stage` says which one it is.
  Tracing(Job& job, std::string path, const Trace& trace, collectives::Engine& engine,
          std::optional<TracedStage> stage = {});
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
  /// Leaves this rank's part if an exception unwinds before write().
  ~Tracing();

  /// The executor records here. Null if there is no trace.
  Recording* recording() { return path_.empty() ? nullptr : &recording_; }
  /// Writes this rank's events to its part file, and says so. Calls no MPI and never throws.
  void leave_part() noexcept;
  /// Collective over all ranks, with nothing in flight: writes the file of all ranks, reads it back
  /// and checks it. False, with a line that gives the reason, if it is wrong or cannot be written.
  bool write(const std::string& command);

 private:
  RankTitle title() const;
  RankStory story(std::vector<const Recording::Run*> runs) const;
  std::string part_path() const;
  std::vector<const Recording::Run*> runs_of_all() const;
  Json other_data(const std::string& command, const std::vector<const Recording::Run*>& runs) const;
  std::string write_file(const Json& other_data, const std::shared_ptr<const std::string>& mine) const;

  Job& job_;
  std::string path_;
  const Trace& trace_;
  collectives::Engine& engine_;
  std::optional<TracedStage> stage_;
  Recording recording_;
  Seconds begin_;  ///< by rank 0's clock; not later than any event
  int exceptions_;
  bool written_ = false;
};

}  // namespace shardline::tools
