#pragma once

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline::tools {

/// A line on a terminal that says how far a long work is. Nothing is shown where standard error is no terminal.
class ProgressLine {
 public:
  /// `all`: bytes of the whole work. Shows nothing unless `shows`: only one rank does.
  ProgressLine(Index all, bool shows);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// Removes the line.
  ~ProgressLine();

  /// `done` of the bytes are worked through.
  void show(Index done);

 private:
  Index all_;
  bool shows_;
  Seconds begin_;
};

}  // namespace shardline::tools
