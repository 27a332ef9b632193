#include "collectives/shared/direct_run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace shardline::collectives::direct {

DirectRun::DirectRun(Arena& arena, Job&& job, const Call& call, const std::optional<Readers>& readers)
    : CollectiveRun(std::move(job)),
      meeting_(arena, this->job(), call),
      readers_(readers.value_or(Readers{this->job().position() + 1, this->job().positions() - 1})) {}

CollectiveRun::Outcome DirectRun::push() {
  bool moved = false;
  if (status_ == Status::before) {
    if (!meeting_.start()) return Outcome::idle;
    status_ = Status::reading;
    moved = true;
  }
  if (status_ == Status::reading) {
    moved = read() || moved;
    if (!all_read()) return moved ? Outcome::moved : Outcome::idle;
    meeting_.say_finished();
    status_ = Status::leaving;
    moved = true;
  }
  for (; readers_.count > 0; ++readers_.first, --readers_.count) {
    if (!meeting_.finished(readers_.first % job().positions())) break;
  }
  if (readers_.count > 0) return moved ? Outcome::moved : Outcome::idle;
  meeting_.leave();
  return Outcome::complete;
}

std::string DirectRun::missing() const {
  switch (status_) {
    case Status::before:
      return fmt::format("{} earlier operations over the same axes are under way", kSlots);
    case Status::reading:
      return missing_to_read();
    case Status::leaving:
      break;
  }
  std::vector<std::string> names;
  for (Index k = 0; k < readers_.count; ++k) {
    const Index reader = (readers_.first + k) % job().positions();
    if (!meeting_.finished(reader)) names.push_back(job().peer(reader));
  }
  return fmt::format("its operand is being read by {}", fmt::join(names, ", "));
}

}  // namespace shardline::collectives::direct
