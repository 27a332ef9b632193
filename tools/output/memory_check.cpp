#include "tools/output/memory_check.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/base/check.h"

namespace shardline::tools {
namespace {

/// The data of one rank that its node needs: its need, and its bounds.
struct Neighbour {
  MemoryNeed need;
  std::vector<std::uint64_t> shared_bounds;

  bool shares(const MemoryBound& bound) const {
    return std::find(shared_bounds.begin(), shared_bounds.end(), bound.id) != shared_bounds.end();
  }
};

std::string packed(const MemoryNeed& need, const std::vector<MemoryBound>& bounds) {
  std::string bytes(reinterpret_cast<const char*>(&need), sizeof need);
  for (const MemoryBound& bound : bounds) {
    if (!bound.own) bytes.append(reinterpret_cast<const char*>(&bound.id), sizeof bound.id);
  }
  return bytes;
}

Neighbour unpacked(const std::string& bytes) {
  Neighbour neighbour;
  std::memcpy(&neighbour.need, bytes.data(), sizeof neighbour.need);
  neighbour.shared_bounds.resize((bytes.size() - sizeof neighbour.need) / sizeof(std::uint64_t));
  std::memcpy(neighbour.shared_bounds.data(), bytes.data() + sizeof neighbour.need,
              bytes.size() - sizeof neighbour.need);
  return neighbour;
}

/// Collective over `world`: the ranks of this node.
std::vector<Neighbour> neighbours(const mpi::Communicator& world, const MemoryNeed& need,
                                  const std::vector<MemoryBound>& bounds) {
  const mpi::Communicator node = world.split_by_node();
  std::vector<Neighbour> all;
  for (const std::string& bytes : node.all_gather_bytes(packed(need, bounds))) all.push_back(unpacked(bytes));
  return all;
}

/// The need of these ranks under the bound, and what it leaves.
MemoryShortage under(const MemoryBound& bound, const MemoryNeed& need, const std::vector<Neighbour>& ranks) {
  MemoryShortage result{.bound = bound.name, .per_rank = bound.own, .ranks = 0, .needed = Bytes(0), .left = bound.left};
  if (bound.own) result.needed = need.own;
  for (const Neighbour& rank : ranks) {
    if (bound.own) {  // a rank maps the shared memory of all ranks
      result.needed += rank.need.shared;
      ++result.ranks;
    } else if (rank.shares(bound)) {
      result.needed += rank.need.own + rank.need.shared;
      ++result.ranks;
    }
  }
  return result;
}

/// The need divided by what is left.
double pressure(const MemoryShortage& shortage) {
  if (shortage.needed <= Bytes(0)) return 0;
  return shortage.left > Bytes(0) ? shortage.needed / shortage.left : std::numeric_limits<double>::max();
}

/// Collective over `world`: sends the result of `root` to every rank.
MemoryShortage shared_by(const mpi::Communicator& world, int root, const MemoryShortage& mine) {
  MemoryShortage result = mine;
  result.bound = world.broadcast(mine.bound, root);
  const auto share = [&](auto& value) {
    const std::string bytes = world.broadcast(std::string(reinterpret_cast<const char*>(&value), sizeof value), root);
    std::memcpy(&value, bytes.data(), sizeof value);
  };
  share(result.per_rank);
  share(result.ranks);
  share(result.needed);
  share(result.left);
  return result;
}

}  // namespace

MemoryNeed larger(const MemoryNeed& a, const MemoryNeed& b) {
  return {.own = std::max(a.own, b.own), .shared = std::max(a.shared, b.shared)};
}

MemoryNeed operator+(const MemoryNeed& a, const MemoryNeed& b) {
  return {.own = a.own + b.own, .shared = a.shared + b.shared};
}

bool MemoryShortage::fits(const MemoryNeed& need) const {
  const double all = ranks;
  return (per_rank ? need.own + need.shared * all : (need.own + need.shared) * all) <= left;
}

std::optional<MemoryShortage> memory_shortage(const mpi::Communicator& world, const MemoryNeed& need,
                                              const std::vector<MemoryBound>& bounds) {
  const std::vector<Neighbour> ranks = neighbours(world, need, bounds);
  MemoryShortage worst;
  for (const MemoryBound& bound : bounds) {
    const MemoryShortage here = under(bound, need, ranks);
    if (pressure(here) > pressure(worst)) worst = here;
  }
  const std::vector<double> of_all = world.all_gather(pressure(worst));
  const auto most = std::max_element(of_all.begin(), of_all.end());
  if (*most <= 1) return std::nullopt;
  return shared_by(world, static_cast<int>(most - of_all.begin()), worst);
}

Bytes memory_limit_of_a_rank(const mpi::Communicator& world, const std::vector<MemoryBound>& bounds) {
  const std::vector<Neighbour> ranks = neighbours(world, {}, bounds);
  double least = std::numeric_limits<double>::max();
  for (const MemoryBound& bound : bounds) {
    const auto sharing =
        bound.own ? 1 : std::count_if(ranks.begin(), ranks.end(), [&](const Neighbour& r) { return r.shares(bound); });
    least = std::min(least, bound.limit.value / static_cast<double>(sharing));
  }
  return Bytes(world.min(least));
}

}  // namespace shardline::tools
