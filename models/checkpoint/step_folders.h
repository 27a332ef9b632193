#pragma once

#include <string>

#include "runtime/base/shape.h"

namespace shardline {

// A folder of checkpoints holds `step-N` for each, a folder, and `latest`, a file with the name of the newest. A step
// folder gets its name when all of it is on the disk. Until then, and while it is removed, it is `step-N.partial`. So
// whatever happens, a `step-N` is whole, and `latest` names one. One process calls these functions.

/// Makes `step-N.partial` for the files of a checkpoint, and returns its path. Removes what runs that were killed left
/// behind. Throws UsageError if it cannot be made.
std::string begin_step(const std::string& folder, Index step);

/// Gives the partial folder its name; an older one of that name goes. Then `latest` names it. Throws ResultError
/// if this fails. Then `latest` is as it was, or names the new one.
void publish_step(const std::string& folder, Index step);

/// Removes the partial folder of a checkpoint that failed.
void abandon_step(const std::string& folder, Index step) noexcept;

/// Removes all step folders but the `keep` newest, by number, up to that of `latest`, which stays. Those of later steps
/// stay too: another run has saved them, and this one went on from an earlier step. What cannot be removed stays.
void remove_old_steps(const std::string& folder, Index keep);

/// True if step_folder() finds one.
bool has_checkpoint(const std::string& folder);

/// The step folder that is meant: `folder` itself, or the one that its `latest` names, or without `latest` the one with
/// the largest number. Throws UsageError if there is none.
std::string step_folder(const std::string& folder);

/// The description of a checkpoint in its folder; it is written last.
std::string manifest_path(const std::string& step_folder);

}  // namespace shardline
