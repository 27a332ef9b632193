#include "program/run/state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/shared/arena.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

ArraySpec spec_of(const StateArray& array) {
  return {
      .name = array.name, .dims = array.dims, .shape = array.shape, .sharding = array.sharding, .dtype = array.dtype};
}

void copy_elements(const Tensor& from, Tensor& to) {
  if (from.bytes() > 0) std::memcpy(to.data(), from.data(), static_cast<std::size_t>(from.bytes()));
}

}  // namespace

State::State(collectives::Engine& engine, const StatePlan& plan) : engine_(engine), room_(std::make_shared<Room>()) {
  take_room(plan.room);
  for (const auto& [name, item] : plan.items) add(item);
}

State::State(collectives::Engine& engine, const StatePlan& plan, const State& lender,
             const std::vector<std::string>& lent)
    : engine_(engine), room_(lender.room_) {
  if (!lender.room(plan.room)) {
    room_ = std::make_shared<Room>();
    take_room(plan.room);
  }
  for (const auto& [name, item] : plan.items) {
    if (std::find(lent.begin(), lent.end(), name) == lent.end()) {
      add(item);
      continue;
    }
    const Slot& slot = lender.slot(name);
    SHARDLINE_CHECK(slot.array == item.array, "a state holds {}, one that lends to it {}", to_string(item.array),
                    to_string(slot.array));
    numbers_.emplace(name, slots_.size());
    slots_.push_back(slot);
  }
}

void State::take_room(Index bytes) {
  collectives::Arena* arena = engine_.arena().get();
  if (arena != nullptr && bytes > 0) room_->memory = arena->try_allocate(DType::i64, {bytes / size_of(DType::i64)});
}

void State::add(const StatePlan::Item& item) {
  const Mesh& mesh = engine_.mesh();
  collectives::Arena* arena = engine_.arena().get();
  numbers_.emplace(item.array.name, slots_.size());
  Slot& made = slots_.emplace_back();
  made.array = item.array;
  if (arena == nullptr || !item.shared) return;
  const Shape shape = local_shape(item.array.shape, item.array.sharding, mesh.axes(), mesh.rank());
  std::optional<Tensor> place = arena->try_allocate(item.array.dtype, shape);
  if (!place) return;
  made.placed = true;
  made.block = {item.array.dtype, shape, counted(place->memory(), place->bytes())};
}

std::vector<std::string> State::names() const {
  std::vector<std::string> names;
  for (const auto& [name, number] : numbers_) names.push_back(name);
  return names;
}

std::size_t State::number(const std::string& name) const {
  const auto found = numbers_.find(name);
  SHARDLINE_CHECK(found != numbers_.end(), "the state has no array {}", name);
  return found->second;
}

const Tensor& State::block(std::size_t number) const {
  const Slot& of = slots_[number];
  SHARDLINE_CHECK(of.is_set, "array {} of the state has no elements yet", of.array.name);
  return of.block;
}

void State::set(const std::string& name, Tensor block) {
  Slot& of = slot(name);
  const Mesh& mesh = engine_.mesh();
  const Shape expected = local_shape(of.array.shape, of.array.sharding, mesh.axes(), mesh.rank());
  SHARDLINE_CHECK(block.dtype() == of.array.dtype && block.shape() == expected,
                  "the state holds {}, of which rank {} has a block {}; given {} {}", to_string(of.array), mesh.rank(),
                  to_string(expected), name_of(block.dtype()), to_string(block.shape()));
  if (of.placed || of.is_set) {
    copy_elements(block, of.block);
  } else {
    of.block = std::move(block);
  }
  of.is_set = true;
}

void State::fill(const std::string& name, const DistTensor::Element& element) {
  set(name, DistTensor::make(engine_.mesh(), spec_of(array(name)), element).local());
}

void State::fill_zeros(const std::string& name) {
  const StateArray& of = array(name);
  const Mesh& mesh = engine_.mesh();
  set(name, Tensor::zeros(of.dtype, local_shape(of.shape, of.sharding, mesh.axes(), mesh.rank())));
}

Tensor State::gather(const std::string& name) const {
  return DistTensor::from_local(engine_.mesh(), spec_of(array(name)), block(name)).gather();
}

std::optional<Tensor> State::room(Index bytes) const {
  if (!room_->memory || room_->memory->bytes() < bytes) return std::nullopt;
  return room_->memory;
}

void State::replace(std::size_t number, const Tensor& updated) {
  Slot& of = slots_[number];
  of.is_set = true;
  if (of.block.data() == updated.data() && of.block.shape() == updated.shape()) return;
  if (of.placed) {
    copy_elements(updated, of.block);
  } else if (engine_.arena() != nullptr && engine_.arena()->contains(updated)) {
    // The place of `updated` belongs to its own version.
    if (of.block.data() == nullptr) of.block = Tensor(updated.dtype(), updated.shape());
    copy_elements(updated, of.block);
  } else {
    of.block = updated;
  }
}

}  // namespace shardline
