#include "collectives/schedule.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace shardline::collectives {

void Schedule::add(Step step) {
  const bool moves =
      std::any_of(step.sends.begin(), step.sends.end(), [](const Send& send) { return send.from.size() > 0; }) ||
      std::any_of(step.receives.begin(), step.receives.end(),
                  [](const Receive& receive) { return receive.into.size() > 0; });
  if (moves) steps.push_back(std::move(step));
}

Index elements_sent(const Schedule& schedule) {
  Index sum = 0;
  for (const Step& step : schedule.steps) {
    for (const Send& send : step.sends) sum += send.from.size();
  }
  return sum;
}

Index ring_position(Index position, Index offset, Index positions) {
  return ((position + offset) % positions + positions) % positions;
}

void no_schedule(Algorithm algorithm, const char* collective) {
  throw Error(fmt::format("{} has no schedule for algorithm {}", collective, name_of(algorithm)));
}

}  // namespace shardline::collectives
