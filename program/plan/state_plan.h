#pragma once

#include <map>
#include <string>
#include <vector>

#include "program/plan/compiled.h"

namespace shardline {

/// An array of a state without its elements. All programs that use it must agree on this.
struct StateArray {
  std::string name;
  std::vector<std::string> dims;
  Shape shape;  ///< logical
  Sharding sharding;
  DType dtype = DType::f32;

  bool operator==(const StateArray&) const = default;
};

/// "f32 W[D_X, F] of shape [8, 12]"
std::string to_string(const StateArray& array);

/// True when an input lives longer than a run of the program: a parameter, a moment of the optimizer, or whatever the
/// program updates.
bool is_state(const Program& program, ArrayId input);

/// What a program says of one of its inputs.
StateArray state_array(const Compiled& compiled, ArrayId input);

/// The arrays that several programs share, and what the programs need of shared memory together. Pure, and the same on
/// every rank.
struct StatePlan {
  struct Item {
    StateArray array;
    bool shared = false;  ///< a program communicates it, so that it lies in shared memory
    Index bytes = 0;      ///< of the largest block, in whole cache lines
  };
  std::map<std::string, Item> items;  ///< by name
  Index room = 0;  ///< bytes for arrays that a program makes itself: the largest need, as one program runs at a time
  Index input_bytes = 0;  ///< of inputs that are communicated and are not state, over all programs

  /// What an arena needs to hold all of it.
  Index shared_bytes() const;
};

/// The union over the state of `programs`. Throws Error with both descriptions when two of them disagree on an array.
StatePlan plan_state(const std::vector<const Compiled*>& programs);

}  // namespace shardline
