#include "collectives/operation.h"

#include "runtime/base/check.h"
#include "runtime/trace.h"

namespace shardline::collectives {

std::string Job::label() const {
  return fmt::format("{} over {} (tag {})", name, group->axes.empty() ? "no axes" : to_string(group->axes), tag);
}

std::string Job::label_here() const { return fmt::format("{} on {}", label(), peer(position())); }

std::string Job::peer(Index position) const {
  return fmt::format("position {} (mesh rank {})", position, group->mesh_ranks[static_cast<std::size_t>(position)]);
}

const Group& Job::nobody() {
  static const Group group;
  return group;
}

bool Operation::advance() {
  if (done_) return false;
  if (!failure_.empty()) throw Error(failure_);
  State state = State::idle;
  try {
    state = step();
  } catch (const Error& error) {
    failure_ = fmt::format("{}: {}", job_.label_here(), error.what());
    throw Error(failure_);
  }
  if (state == State::complete) {
    if (job_.finish) job_.finish();
    job_.finish = nullptr;
    job_.kept.reset();
    done_ = true;
    done_at_ = now();
  }
  return state != State::idle;
}

}  // namespace shardline::collectives
