#include "models/checkpoint/weights_hash.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

/// Spreads every bit over the whole word (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

/// Row-major places in the whole array of the elements of a block, in the order of the block.
class Places {
 public:
  Places(const Shape& whole, const std::vector<Range>& block) : whole_(whole), block_(block) {
    for (const Range& range : block) at_.push_back(range.begin);
  }

  std::uint64_t next() {
    std::uint64_t place = 0;
    for (std::size_t d = 0; d < at_.size(); ++d) {
      place = place * static_cast<std::uint64_t>(whole_[d]) + static_cast<std::uint64_t>(at_[d]);
    }
    for (std::size_t d = at_.size(); d-- > 0;) {
      if (++at_[d] < block_[d].end) break;
      at_[d] = block_[d].begin;
    }
    return place;
  }

 private:
  const Shape& whole_;
  const std::vector<Range>& block_;
  std::vector<Index> at_;
};

/// The sum over the elements of a block, modulo 2^64: any cut into blocks gives the same whole.
std::uint64_t block_sum(const StateArray& array, const std::vector<Range>& ranges, const Tensor& block) {
  const std::uint64_t name = hash_of(array.name);
  const auto item = static_cast<std::size_t>(size_of(array.dtype));
  Places places(array.shape, ranges);
  std::uint64_t sum = 0;
  for (Index i = 0; i < block.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, block.data() + static_cast<std::size_t>(i) * item, item);
    sum += mixed(mixed(name + places.next()) + bits);
  }
  return sum;
}

/// True if no rank before this one, of the mesh or of an earlier stage, has the same block.
bool counts_here(const State& state, const StateArray& array, double first_of_all, double first_of_stage) {
  if (first_of_all < first_of_stage) return false;
  const Mesh& mesh = state.engine().mesh();
  const std::vector<Range> mine = box(array.shape, array.sharding, mesh.axes(), mesh.rank());
  for (Index rank = 0; rank < mesh.rank(); ++rank) {
    if (box(array.shape, array.sharding, mesh.axes(), rank) == mine) return false;
  }
  return true;
}

}  // namespace

std::string weights_hash(const State& state, const Model& model, const mpi::Communicator& comm) {
  const double first_of_stage = state.engine().mesh().comm().min(comm.rank());
  std::uint64_t own = 0;
  for (const ModelParameter& parameter : model.parameters) {
    const std::string& name = model.program.array(parameter.array).name;
    const bool here = state.contains(name);
    const double first_of_all = comm.min(here ? comm.rank() : comm.size());
    if (!here || !counts_here(state, state.array(name), first_of_all, first_of_stage)) continue;
    const Mesh& mesh = state.engine().mesh();
    const StateArray& array = state.array(name);
    own += block_sum(array, box(array.shape, array.sharding, mesh.axes(), mesh.rank()), state.block(name));
  }
  std::uint64_t sum = 0;
  const std::string bytes(reinterpret_cast<const char*>(&own), sizeof own);
  for (const std::string& each : comm.all_gather_bytes(bytes)) {
    std::uint64_t part = 0;
    std::memcpy(&part, each.data(), sizeof part);
    sum += part;
  }
  return fmt::format("{:016x}", mixed(sum));
}

}  // namespace shardline
