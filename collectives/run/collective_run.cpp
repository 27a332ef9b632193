#include "collectives/run/collective_run.h"

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

CollectiveRun::CollectiveRun(Job&& job) : job_(std::move(job)), started_(now()) {}

void CollectiveRun::supply(Range elements) {
  SHARDLINE_CHECK(job_.fed, "{}: supplied with input, but not started as fed", job_.label_here());
  SHARDLINE_CHECK(0 <= elements.begin && elements.begin <= elements.end && elements.end <= job_.input_size,
                  "{}: supplied with elements [{}, {}) of {}", job_.label_here(), elements.begin, elements.end,
                  job_.input_size);
  if (!done_) take_input(elements);
}

bool CollectiveRun::arrived(Range elements) const { return done_ || has_settled(elements); }

void CollectiveRun::take_input(Range /*elements*/) {}

bool CollectiveRun::has_settled(Range elements) const { return elements.size() == 0; }

bool CollectiveRun::advance() {
  if (done_) return false;
  if (!failure_.empty()) throw Error(failure_);
  Outcome outcome = Outcome::idle;
  try {
    outcome = push();
  } catch (const Error& error) {
    failure_ = fmt::format("{}: {}", job_.label_here(), error.what());
    throw Error(failure_);
  }
  if (outcome == Outcome::complete) {
    if (job_.finish) job_.finish();
    job_.finish = nullptr;
    job_.kept.reset();
    done_ = true;
    ended_ = now();
  }
  return outcome != Outcome::idle;
}

}  // namespace shardline::collectives
