#pragma once

#include <functional>

namespace shardline {

/// While one lives, SIGINT and SIGTERM end nothing: they ask this process to stop, which it does where it can do so in
/// order. Another signal after kPatience ends it as if there were no handler; within that time it is taken for the same
/// one, as launcher and terminal may both send it. One at a time.
class Interruption {
 public:
  /// Open MPI's launcher kills a rank a second after it has asked it to stop.
  static constexpr double kPatience = 0.3;  // seconds

  /// `overdue` is called once, on the thread that calls attend(), when the signal is kPatience old and the process
  /// still has not stopped: the launcher will soon end it by force. It must not throw.
  explicit Interruption(std::function<void()> overdue = {});
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// True once this process was asked to stop.
  static bool asked();
  /// To be called now and then by what may take long or wait for others; costs next to nothing.
  static void attend();
};

}  // namespace shardline
