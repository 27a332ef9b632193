#include "program/cut/move_numbers.h"

namespace shardline {

MoveNumbers::MoveNumbers(const Cut& cut, Index micro_batches) : micro_batches_(micro_batches) {
  using enum TaskKind;
  for (const auto& kinds : {std::vector{forward, backward}, std::vector{inputs}}) {
    for (const auto& [task, stages] : cut.sends(kinds)) {
      for (const int to : stages) first_.emplace(std::pair(task, to), static_cast<Index>(first_.size()));
    }
  }
}

int MoveNumbers::of(const Task& task, int to) const {
  return static_cast<int>(first_.at({task.of_chunk(), to}) * micro_batches_ + task.micro_batch);
}

int MoveNumbers::of_update(std::size_t event) const {
  return static_cast<int>(static_cast<Index>(first_.size()) * micro_batches_ + static_cast<Index>(event));
}

}  // namespace shardline
