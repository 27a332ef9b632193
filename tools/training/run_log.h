#pragma once

#include <optional>
#include <string>

#include "models/training/training.h"
#include "tools/job.h"

namespace shardline::tools {

/// The log of a run: a file with one JSON object a line, for each step and each held-out loss. Rank 0 writes it, each
/// line at once. A run that is killed leaves its lines.
class RunLog {
 public:
  /// Collective over `world`. An empty path: no log. Lines of an older file stay and new ones follow. If the run
  /// goes on after `begin` steps of an earlier one, lines of later steps go first, and a line that was cut off: with 0,
  /// all lines of a run that saved nothing. Throws UsageError if the file is no such log or cannot be written.
  RunLog(const mpi::Communicator& world, std::string path, std::optional<Index> begin);
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;
  ~RunLog();

  /// `step` counts from 1. Throws ResultError on rank 0 if the line cannot be written.
  void add(Index step, const StepResult& result, double tokens);
  void add_held_out(Index step, double loss);
  /// After step `step`: steps are slower since an earlier one.
  void add_slower(Index step, Index since, const std::string& text);

 private:
  void add_line(const Json& line);

  std::string path_;
  int descriptor_ = -1;  ///< on rank 0
};

}  // namespace shardline::tools
