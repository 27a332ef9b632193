// The simulator of schedules must find each kind of fault.

#include "tests/collectives/schedule/simulate.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

namespace shardline::collectives {
namespace {

Scenario two_positions(const std::function<Schedule(Index)>& schedule_of) {
  return {2, schedule_of, {{1, 2}, {3, 4}}, {2, 2}};
}

const Piece kWholeInput{Buffer::input, {0, 2}};
const Piece kWholeOutput{Buffer::output, {0, 2}};

TEST(Simulate, SeesADeadlock) {
  const auto both_send_first = [](Index i) {
    return Schedule{{{{.sends = {{1 - i, kWholeInput}}}, {.receives = {{1 - i, kWholeOutput}}}}}};
  };
  EXPECT_THROW(simulate(two_positions(both_send_first)), std::runtime_error);
  const auto waits_for_itself = [](Index) { return Schedule{{{{.needs = {{0, 1}}}}}}; };
  EXPECT_THROW(simulate(two_positions(waits_for_itself)), std::runtime_error);
}

TEST(Simulate, SeesUnequalTransfers) {
  const auto unequal = [](Index i) {
    return Schedule{{{{.sends = {{1 - i, kWholeInput}}, .receives = {{1 - i, {Buffer::output, {0, 1}}}}}}}};
  };
  EXPECT_THROW(simulate(two_positions(unequal)), std::runtime_error);
  const auto partial = [](Index i) {
    return Schedule{{{{.sends = {{1 - i, kWholeInput, true}}, .receives = {{1 - i, kWholeOutput}}}}}};
  };
  EXPECT_THROW(simulate(two_positions(partial)), std::runtime_error);
}

TEST(Simulate, SeesTransfersThatDependOnEachOther) {
  const auto sent_from_what_arrives = [](Index i) {
    return Schedule{
        {{{.sends = {{1 - i, {Buffer::output, {0, 1}}}}, .receives = {{1 - i, {Buffer::output, {0, 1}}}}}}}};
  };
  EXPECT_THROW(simulate(two_positions(sent_from_what_arrives)), std::runtime_error);
}

}  // namespace
}  // namespace shardline::collectives
