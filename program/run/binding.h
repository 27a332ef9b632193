#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "program/plan/compiled.h"
#include "program/run/state.h"

namespace shardline {

/// A program input that lives in a state.
struct BoundInput {
  ArrayId input = -1;
  VersionId arrives = -1;
  std::size_t number = 0;            ///< in the state
  std::optional<VersionId> updated;  ///< its successor after a run
  bool is_read = false;              ///< some step reads it; else the program only writes it
};

/// The inputs of a program that `state` holds, by name. Throws Error with both descriptions if they
/// disagree on an array. Throws Error if an input is state of the program (see is_state()) and the state lacks it.
std::vector<BoundInput> bind_inputs(const Compiled& compiled, const State& state);

}  // namespace shardline
