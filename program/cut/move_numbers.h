#pragma once

#include <map>
#include <utility>

#include "program/cut/cut.h"

namespace shardline {

/// A number for each move of a step, equal at both ends: the tag of its message.
class MoveNumbers {
 public:
  MoveNumbers(const Cut& cut, Index micro_batches);

  /// The move of what `task` makes to stage `to`.
  int of(const Task& task, int to) const;
  /// The move that is event `event` of the update.
  int of_update(std::size_t event) const;

 private:
  Index micro_batches_;
  std::map<std::pair<ChunkTask, int>, Index> first_;  ///< in units of the number of micro-batches
};

}  // namespace shardline
