#include "runtime/host/interrupt.h"

#include <csignal>
#include <ctime>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGUSR2, SIGUSR1};

/// Time of the first signal, by CLOCK_MONOTONIC in ns; 0: none. The handler sets it, and may do
/// little else.
std::atomic<std::int64_t> asked_at{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
std::atomic<bool> saving_asked{false};
std::atomic<bool> launcher_ends{false};  ///< the signal was one at which launchers end the job
static_assert(std::atomic<bool>::is_always_lock_free);

std::array<struct sigaction, kSignals.size()> previous;
std::vector<char> stack_memory;
stack_t previous_stack;
std::function<void()> when_overdue;
bool installed = false;

std::int64_t monotonic() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Call it only after a signal.
bool overdue() { return static_cast<double>(monotonic() - asked_at) > Interruption::kPatience * 1e9; }

extern "C" void shardline_take_signal(int signal) {
  if (signal == SIGUSR1) {
    saving_asked = true;
    return;
  }
  if (signal != SIGUSR2) launcher_ends = true;
  std::int64_t never = 0;
  if (asked_at.compare_exchange_strong(never, monotonic()) || !overdue()) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Gives the handlers of this thread a stack.
void take_stack() {
  constexpr std::size_t kRoom = 64 << 10;  // the registers alone are 11 KiB with AMX
  stack_memory.resize(kRoom);
  stack_t stack{};
  stack.ss_sp = stack_memory.data();
  stack.ss_size = stack_memory.size();
  SHARDLINE_CHECK(sigaltstack(&stack, &previous_stack) == 0, "sigaltstack failed: {}", std::strerror(errno));
}

}  // namespace

Interruption::Interruption(std::function<void()> overdue) {
  SHARDLINE_CHECK(!installed, "a second handler of signals");
  take_stack();
  installed = true;
  asked_at = 0;
  saving_asked = false;
  launcher_ends = false;
  when_overdue = std::move(overdue);
  struct sigaction action {};
  action.sa_handler = shardline_take_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &previous[i]);
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous[i], nullptr);
  sigaltstack(&previous_stack, nullptr);
  when_overdue = nullptr;
  installed = false;
}

void Interruption::set_overdue(std::function<void()> overdue) { when_overdue = std::move(overdue); }

bool Interruption::asked() { return installed && asked_at.load(std::memory_order_relaxed) != 0; }

bool Interruption::save_asked() { return installed && saving_asked.load(std::memory_order_relaxed); }

void Interruption::forget_save() { saving_asked = false; }

void Interruption::attend() {
  if (!asked() || !launcher_ends || !when_overdue || !overdue()) return;
  std::exchange(when_overdue, nullptr)();
}

}  // namespace shardline
