#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "program/plan/state_plan.h"
#include "runtime/layout/tensor.h"
#include "runtime/mesh/dist_tensor.h"

namespace shardline {

/// What lives longer than a run of a program: named arrays on the mesh of an engine, each in one sharding. Executors
/// that are bound to a state find their inputs here and leave updated arrays here. One of them runs at a time. What
/// the programs communicate lies in the engine's arena, if it has one with room for it: each array at one place for
/// all programs, and one room for what the running program makes itself.
class State {
 public:
  /// Collective over the mesh of `engine`, which must outlive the state. Takes the places in the arena; no array has
  /// elements yet.
  State(collectives::Engine& engine, const StatePlan& plan);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  collectives::Engine& engine() const { return engine_; }
  bool contains(const std::string& name) const { return numbers_.contains(name); }
  std::vector<std::string> names() const;
  /// What the array is. Throws Error, as all that follow, when the state has none of this name.
  const StateArray& array(const std::string& name) const { return slot(name).array; }
  /// False until set(), fill() or a program has given elements.
  bool is_set(const std::string& name) const { return slot(name).is_set; }
  /// This rank's block; throws Error when it is not set.
  const Tensor& block(const std::string& name) const { return block(number(name)); }

  /// Gives this rank's block. Its storage is shared, and overwritten by programs, unless it is copied to the arena.
  /// Throws Error when dtype or shape are not those of the block.
  void set(const std::string& name, Tensor block);
  /// Gives this rank's block from the logical array: `element` gives the element at a row-major index, for those of
  /// the block alone.
  void fill(const std::string& name, const DistTensor::Element& element);
  void fill_zeros(const std::string& name);
  /// Collective over the mesh: the whole array on every rank. Throws Error when replicas differ in a bit.
  Tensor gather(const std::string& name) const;

  // For executors.

  /// The memory in which programs place what they make themselves, when it holds `bytes`; programs share it.
  std::optional<Tensor> room(Index bytes) const;
  /// The number by which the following know an array. Throws Error when the state has none of this name.
  std::size_t number(const std::string& name) const;
  /// This rank's block; throws Error when it is not set.
  const Tensor& block(std::size_t number) const;
  /// This rank's block, or room for one in the arena that nothing has written, or an empty tensor.
  const Tensor& storage(std::size_t number) const { return slots_[number].block; }
  /// `updated` is this rank's block from now on. Copies where one of both lies in the arena, else shares storage.
  void replace(std::size_t number, const Tensor& updated);
  /// Notes which executor has used the room last.
  void use_room(const void* user) { room_user_ = user; }
  bool last_used_room(const void* user) const { return room_user_ == user; }

 private:
  struct Slot {
    StateArray array;
    Tensor block;
    bool placed = false;  ///< in the arena, for good
    bool is_set = false;
  };

  const Slot& slot(const std::string& name) const { return slots_[number(name)]; }
  Slot& slot(const std::string& name) { return slots_[number(name)]; }

  collectives::Engine& engine_;
  std::map<std::string, std::size_t> numbers_;  ///< by name
  std::vector<Slot> slots_;                     ///< by number
  std::optional<Tensor> room_;
  const void* room_user_ = nullptr;
};

}  // namespace shardline
