#include "collectives/run/operation.h"

#include "runtime/base/check.h"
#include "runtime/trace/clock.h"

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

Operation::Operation(Job&& job) : job_(std::move(job)), started_(now()) {}

void Operation::supply(Range elements) {
  SHARDLINE_CHECK(job_.fed, "{}: supplied with input, but not started as fed", job_.label_here());
  SHARDLINE_CHECK(0 <= elements.begin && elements.begin <= elements.end && elements.end <= job_.input_size,
                  "{}: supplied with elements [{}, {}) of {}", job_.label_here(), elements.begin, elements.end,
                  job_.input_size);
  if (!done_) take_input(elements);
}

bool Operation::arrived(Range elements) const { return done_ || has_settled(elements); }

void Operation::take_input(Range /*elements*/) {}

bool Operation::has_settled(Range elements) const { return elements.size() == 0; }

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
    ended_ = now();
  }
  return state != State::idle;
}

}  // namespace shardline::collectives
