#pragma once

#include <functional>

namespace shardline {

/// While an Interruption lives, SIGINT, SIGTERM and SIGUSR2 only ask this process to stop; it stops at a
/// safe point. Launchers of MPI hand on SIGUSR2 at once, but end the job by themselves at the others. SIGUSR1 asks it to save and go on. A second signal within kPatience counts as the same one, because
/// launcher and terminal may both send it. A later signal acts as if there were no handler. Only one Interruption at a
/// time.
class Interruption {
 public:
  /// Open MPI's launcher asks a rank to stop and kills it one second later.
  static constexpr double kPatience = 0.3;  // seconds

  /// `overdue` is called once, if the signal is kPatience old and the process has not stopped: the
  /// launcher will soon kill it. The call comes from the thread that calls attend(). It must not
  /// throw.
  explicit Interruption(std::function<void()> overdue = {});
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// True once this process was asked to stop.
  static bool asked();
  /// True once this process was asked to save, until forget_save().
  static bool save_asked();
  static void forget_save();
  /// Code that takes long or waits for others calls this now and then. The cost is negligible.
  static void attend();
};

}  // namespace shardline
