#pragma once

#include <map>
#include <string>
#include <vector>

#include "program/plan/compiled.h"

namespace shardline {

/// An array of a state, without elements. All programs that use it must agree on it.
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

/// True if an input lives longer than one run: a parameter, an optimizer moment, or anything that
/// the program updates.
bool is_state(const Program& program, ArrayId input);

/// The description of an input in its program.
StateArray state_array(const Compiled& compiled, ArrayId input);

/// The arrays that several programs share, and the shared memory that they need together. Pure
/// data, the same on every rank.
struct StatePlan {
  struct Item {
    StateArray array;
    bool shared = false;  ///< a program communicates it, so it lies in shared memory
    Index bytes = 0;      ///< of the largest block, in whole cache lines
  };
  std::map<std::string, Item> items;  ///< by name
  Index room = 0;  ///< bytes for arrays that a program makes; the largest need, because one program runs at a time
  Index input_bytes = 0;  ///< inputs that are communicated and are not state, over all programs

  /// The arena size for all of it.
  Index shared_bytes() const;
  /// What the blocks of its arrays take on `rank`, without those in shared memory.
  Bytes own_bytes(const AbstractMesh& mesh, Index rank) const;
};

/// The union of the states of `programs`. Throws Error with both descriptions if two programs
/// disagree on an array.
StatePlan plan_state(const std::vector<const Compiled*>& programs);

}  // namespace shardline
