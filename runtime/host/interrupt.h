#pragma once

#include <functional>

namespace shardline {

/// While an Interruption lives, SIGINT, SIGTERM and SIGUSR2 only ask this process to stop; it stops at a
/// safe point. Open MPI's launcher hands on SIGUSR2 at once, but ends the job by itself at SIGINT and SIGTERM. SIGUSR1
/// asks it to save and go on. A second signal within kPatience counts as the same one, because launcher and terminal
/// may both send it. A later signal acts as if there were no handler. Only one Interruption at a time. The handlers run
/// on a stack of their own if the signal meets the thread that made the Interruption: code that is made at run time, as
/// that of oneDNN with AVX-512, may use the register of the stack for other things, and a handler on such a stack
/// destroys memory. So other threads that run such code must block signals.
class Interruption {
 public:
  /// Open MPI's launcher asks a rank to stop and kills it one second later.
  static constexpr double kPatience = 0.3;  // seconds

  /// `overdue` is called once, if SIGINT or SIGTERM is kPatience old and the process has not stopped: the
  /// launcher will soon kill it. The call comes from the thread that calls attend(). It must not
  /// throw.
  explicit Interruption(std::function<void()> overdue = {});
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// From now on this is `overdue`; empty: nothing.
  void set_overdue(std::function<void()> overdue);

  /// True once this process was asked to stop.
  static bool asked();
  /// True once this process was asked to save, until forget_save().
  static bool save_asked();
  static void forget_save();
  /// Code that takes long or waits for others calls this now and then. The cost is negligible.
  static void attend();
};

}  // namespace shardline
