#include "runtime/host/interrupt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "runtime/base/check.h"

namespace shardline {
namespace {

void wait_until_overdue() { std::this_thread::sleep_for(std::chrono::duration<double>(1.2 * Interruption::kPatience)); }

TEST(Interruption, AsksToStopAndIsOverdueOnce) {
  int overdue = 0;
  {
    const Interruption interruption([&] { ++overdue; });
    Interruption::attend();
    EXPECT_FALSE(Interruption::asked());
    std::raise(SIGINT);
    std::raise(SIGTERM);  // the launcher's signal, which counts as the same
    EXPECT_TRUE(Interruption::asked());
    Interruption::attend();
    EXPECT_EQ(overdue, 0);
    wait_until_overdue();
    Interruption::attend();
    Interruption::attend();
    EXPECT_EQ(overdue, 1);
  }
  EXPECT_FALSE(Interruption::asked());
  const Interruption again;
  EXPECT_FALSE(Interruption::asked());
  std::raise(SIGUSR2);
  EXPECT_TRUE(Interruption::asked());
  EXPECT_FALSE(Interruption::save_asked());
}

TEST(Interruption, AskingToSaveDoesNotAskToStop) {
  {
    const Interruption interruption;
    EXPECT_FALSE(Interruption::save_asked());
    std::raise(SIGUSR1);
    EXPECT_TRUE(Interruption::save_asked());
    EXPECT_FALSE(Interruption::asked());
    Interruption::forget_save();
    EXPECT_FALSE(Interruption::save_asked());
    std::raise(SIGUSR1);
  }
  const Interruption again;
  EXPECT_FALSE(Interruption::save_asked());
}

TEST(Interruption, OneAtATime) {
  const Interruption interruption;
  EXPECT_THROW(Interruption(), Error);
}

TEST(InterruptionDeathTest, ALaterSignalEndsTheProcess) {
  const auto signalled_twice = [] {
    const Interruption interruption;
    std::raise(SIGTERM);
    wait_until_overdue();
    std::raise(SIGTERM);
    std::exit(0);
  };
  EXPECT_EXIT(signalled_twice(), testing::KilledBySignal(SIGTERM), "");
}

TEST(InterruptionDeathTest, SignalsEndTheProcessAgainAfterIt) {
  const auto signalled_after = [] {
    { const Interruption interruption; }
    std::raise(SIGINT);
    std::exit(0);
  };
  EXPECT_EXIT(signalled_after(), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace shardline
