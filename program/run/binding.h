#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "program/plan/compiled.h"
#include "program/run/state.h"

namespace shardline {

/// An input of a program that is found in a state.
struct BoundInput {
  ArrayId input = -1;
  VersionId arrives = -1;
  std::size_t number = 0;            ///< in the state
  std::optional<VersionId> updated;  ///< what takes its place after a run
  bool is_read = false;              ///< by some step; else the program only writes it
};

/// The inputs of a program that `state` holds, by name. Throws Error with both descriptions when they disagree on an
/// array, and when the state lacks one that is_state().
std::vector<BoundInput> bind_inputs(const Compiled& compiled, const State& state);

}  // namespace shardline
