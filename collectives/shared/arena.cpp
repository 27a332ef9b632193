#include "collectives/shared/arena.h"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/units.h"
#include "runtime/mpi/error.h"

namespace shardline::collectives {
namespace {

constexpr Index kArenaAlignment = 64;
constexpr Index kPage = 4096;

Index round_up(Index bytes, Index multiple) { return (bytes + multiple - 1) / multiple * multiple; }

/// An empty tensor takes a place too.
Index room(Index bytes_per_rank) { return round_up(std::max<Index>(bytes_per_rank, 1), kArenaAlignment); }

Index control_bytes(std::size_t axis_sets) {
  return round_up(static_cast<Index>(axis_sets) * direct::kSlots * static_cast<Index>(sizeof(direct::Slot)), kPage);
}

/// Collective over `comm`: the largest of every rank's values, element by element.
std::vector<Index> largest_of_all(const mpi::Communicator& comm, std::vector<Index> values) {
  SHARDLINE_MPI(
      MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T, MPI_MAX, comm.get()));
  return values;
}

std::string text(Index bytes) { return to_string(Bytes(static_cast<double>(bytes))); }

}  // namespace

Arena::Arena(const Mesh& mesh, Index bytes_per_rank)
    : mesh_(mesh),
      moving_(mesh.axes().axes_that_move()),
      sequences_(std::size_t{1} << moving_.size()),
      control_bytes_(control_bytes(sequences_.size())),
      window_(mesh.comm(), control_bytes_ + round_up(room(bytes_per_rank), kPage)),
      blocks_(std::make_shared<ArenaBlocks>(room(bytes_per_rank))) {
  std::byte* own = part(mesh_.rank());
  for (Index i = 0; i < static_cast<Index>(sequences_.size()) * direct::kSlots; ++i) {
    new (own + i * static_cast<Index>(sizeof(direct::Slot))) direct::Slot;
  }
  window_.node().barrier();
}

Arena::~Arena() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended != 0 || std::uncaught_exceptions() > 0) return;
  const std::vector<Index> held = blocks_->held();
  Index left = std::count(held.begin(), held.end(), 1);
  if (left > 0) fmt::print(stderr, "shardline: an arena was destroyed before {} of its tensors\n", left);
  const int code = MPI_Allreduce(MPI_IN_PLACE, &left, 1, MPI_INT64_T, MPI_MAX, window_.node().get());
  if (code != MPI_SUCCESS || left > 0) window_.abandon();
}

Tensor Arena::allocate(DType dtype, Shape local) {
  const Place place = agree_on_place(element_count(local) * size_of(dtype));
  require(place.begin.has_value(),
          "no room for tensors of {} in an arena of {} per rank: {} are taken, the largest gap is {}",
          text(place.bytes), text(capacity()), text(taken()), text(blocks_->largest_gap()));
  return tensor_at(*place.begin, dtype, std::move(local));
}

std::optional<Tensor> Arena::try_allocate(DType dtype, Shape local) {
  const Place place = agree_on_place(element_count(local) * size_of(dtype));
  if (!place.begin) return std::nullopt;
  return tensor_at(*place.begin, dtype, std::move(local));
}

Arena::Place Arena::agree_on_place(Index own_bytes) {
  std::vector<Index> agreed = blocks_->held();
  agreed.push_back(own_bytes);
  agreed = largest_of_all(mesh_.comm(), std::move(agreed));
  const Index bytes = std::max(round_up(agreed.back(), kArenaAlignment), kArenaAlignment);
  agreed.pop_back();
  blocks_->keep(agreed);
  return {bytes, blocks_->take(bytes)};
}

Tensor Arena::tensor_at(Index begin, DType dtype, Shape local) {
  const auto let_go = [blocks = blocks_, begin](std::byte*) { blocks->let_go(begin); };
  std::byte* memory = part(mesh_.rank()) + control_bytes_ + begin;
  return {dtype, std::move(local), std::shared_ptr<std::byte>(memory, let_go)};
}

bool Arena::contains(const Tensor& tensor) const {
  const std::byte* own = part(mesh_.rank());
  const std::less_equal<> not_after;
  return tensor.data() != nullptr && not_after(own + control_bytes_, tensor.data()) &&
         not_after(tensor.data() + tensor.bytes(), own + window_.bytes());
}

Index Arena::capacity() const { return blocks_->capacity(); }
Index Arena::taken() const { return blocks_->taken(); }

direct::Slot& Arena::slot(Index mesh_rank, Index axis_set, std::uint64_t sequence) const {
  const Index index = axis_set * direct::kSlots + static_cast<Index>(sequence % direct::kSlots);
  return *std::launder(
      reinterpret_cast<direct::Slot*>(part(mesh_rank) + index * static_cast<Index>(sizeof(direct::Slot))));
}

Index Arena::axis_set(const Axes& axes) const {
  Index set = 0;
  for (std::size_t i = 0; i < moving_.size(); ++i) {
    if (shardline::contains(axes, moving_[i])) set |= Index{1} << i;
  }
  return set;
}

std::string give_arena(Engine& engine, Index bytes_per_rank) {
  try {
    engine.set_arena(std::make_shared<Arena>(engine.mesh(), bytes_per_rank));
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace shardline::collectives
