#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/trace/recording.h"
#include "tools/job.h"
#include "tools/trace/trace_text.h"

namespace shardline::tools {

/// Adds the file of --trace, and for each rank of the job the one that it may leave.
void add_trace_files(CommandFiles& files, const std::string& path);

/// The trace of a command: what the ranks do is recorded while it runs and written to one file at its end. A rank that
/// does not come to the end, because of an error or a signal, leaves what it has in a file of its own, PATH.rankN.part.
class Tracing {
 public:
  /// Collective over all ranks. `trace` has the labels and the clock of what will be recorded; it must outlive this. An
  /// empty path stands for no trace.
  Tracing(Job& job, std::string path, const Trace& trace);
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
  /// Leaves this rank's part when an exception unwinds and write() has not been reached.
  ~Tracing();

  /// For the executor to record in; null when there is no trace.
  Recording* recording() { return path_.empty() ? nullptr : &recording_; }
  /// Writes what this rank has recorded to a file of its own, and says so. Calls no MPI and never throws.
  void leave_part() noexcept;
  /// Collective over all ranks, with nothing in flight: writes the file of all ranks, whole, reads it back and checks
  /// it. False, with a line that says why, when it is not right or cannot be written.
  bool write(const std::string& command);

 private:
  RankTitle title() const;
  std::string part_path() const;
  std::vector<const Recording::Run*> runs_of_all() const;
  Json other_data(const std::string& command, const std::vector<const Recording::Run*>& runs) const;
  std::string write_file(const Json& other_data, const std::shared_ptr<const std::string>& mine) const;

  Job& job_;
  std::string path_;
  const Trace& trace_;
  Recording recording_;
  Seconds begin_;  ///< by rank 0's clock; no later than anything recorded
  int exceptions_;
  bool written_ = false;
};

}  // namespace shardline::tools
