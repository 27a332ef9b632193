#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "program/plan/state_plan.h"
#include "runtime/layout/tensor.h"
#include "runtime/mesh/dist_tensor.h"

namespace shardline {

/// Arrays that live longer than one run of a program. They have names, and lie on the mesh of an
/// engine, each in one sharding. Executors bound to a state find their inputs here and leave
/// updated arrays here. One executor runs at a time. Communicated arrays lie in the engine's arena,
/// if it has room: each array at one place for all programs, and one room for the arrays that the
/// running program makes.
class State {
 public:
  /// Collective over the mesh of `engine`, which must outlive the state. Takes the places in the
  /// arena. No array has elements yet.
  State(collectives::Engine& engine, const StatePlan& plan);
  /// The same, but the arrays of `lender` with these names are arrays of both states, and take no memory here. Both
  /// must describe them alike, else Error. The lender's room serves both, if it is large enough. A program that
  /// replaced a lent array would change it in one state alone, so only arrays that stay as they are may be lent.
  State(collectives::Engine& engine, const StatePlan& plan, const State& lender, const std::vector<std::string>& lent);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  collectives::Engine& engine() const { return engine_; }
  bool contains(const std::string& name) const { return numbers_.contains(name); }
  std::vector<std::string> names() const;
  /// The description of an array. This and the following functions throw Error if the state has no
  /// array of this name.
  const StateArray& array(const std::string& name) const { return slot(name).array; }
  /// This rank's block. Throws Error if set(), fill() or a program has not given its elements.
  const Tensor& block(const std::string& name) const { return block(number(name)); }

  /// Sets this rank's block. Copies it over the one before, or to the arena, so that a state that is loaded anew takes
  /// no more memory. If there is neither, the storage is shared, and programs overwrite it. Throws Error if dtype or
  /// shape are wrong.
  void set(const std::string& name, Tensor block);
  /// Sets this rank's block from the logical array. `element` gives the element at a row-major
  /// index; it is called only for elements of the block.
  void fill(const std::string& name, const DistTensor::Element& element);
  void fill_zeros(const std::string& name);
  /// Collective over the mesh: the whole array on every rank. Throws Error if replicas differ in a
  /// bit.
  Tensor gather(const std::string& name) const;

  // For executors.

  /// The memory for arrays that programs make, if it has `bytes`. Programs share it.
  std::optional<Tensor> room(Index bytes) const;
  /// The number of an array, for the functions below. Throws Error if the state has no array of
  /// this name.
  std::size_t number(const std::string& name) const;
  /// This rank's block. Throws Error if it is not set.
  const Tensor& block(std::size_t number) const;
  /// This rank's block; or its unwritten place in the arena; or an empty tensor.
  const Tensor& storage(std::size_t number) const { return slots_[number].block; }
  /// Makes `updated` this rank's block. Copies if one of the two lies in the arena, else shares
  /// storage.
  void replace(std::size_t number, const Tensor& updated);
  /// Notes the executor that used the room last.
  void use_room(const void* user) { room_->user = user; }
  bool last_used_room(const void* user) const { return room_->user == user; }

 private:
  struct Slot {
    StateArray array;
    Tensor block;
    bool placed = false;  ///< in the arena, permanently
    bool is_set = false;
  };

  struct Room {
    std::optional<Tensor> memory;
    const void* user = nullptr;
  };

  void take_room(Index bytes);
  void add(const StatePlan::Item& item);
  const Slot& slot(const std::string& name) const { return slots_[number(name)]; }
  Slot& slot(const std::string& name) { return slots_[number(name)]; }

  collectives::Engine& engine_;
  std::map<std::string, std::size_t> numbers_;  ///< by name
  std::vector<Slot> slots_;                     ///< by number
  std::shared_ptr<Room> room_;                  ///< states share a lent one
};

}  // namespace shardline
