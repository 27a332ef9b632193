#include "roofline/machine/torus.h"

#include <algorithm>
#include <numeric>

namespace shardline::roofline {
namespace {

/// Every way to write `ranks` as a product of `axes` lengths, the longest first.
std::vector<std::vector<Index>> factorings(Index ranks, int axes, Index most) {
  if (axes == 1) return ranks <= most ? std::vector<std::vector<Index>>{{ranks}} : std::vector<std::vector<Index>>{};
  std::vector<std::vector<Index>> all;
  for (Index first = std::min(ranks, most); first >= 1; --first) {
    if (ranks % first != 0) continue;
    for (std::vector<Index>& rest : factorings(ranks / first, axes - 1, first)) {
      rest.insert(rest.begin(), first);
      all.push_back(std::move(rest));
    }
  }
  return all;
}

/// Bandwidth in units of one direction of one link, and minus the hops from end to end.
std::pair<Index, Index> worth(const Chip& chip, const std::vector<Index>& sides) {
  Index bandwidth = 0;
  Index hops = 0;
  for (const Index side : sides) {
    if (side == 1) continue;
    const bool ring = wraps(chip, side) && side > 2;
    bandwidth += ring ? 2 : 1;
    hops += ring ? side / 2 : side - 1;
  }
  return {bandwidth, -hops};
}

}  // namespace

bool wraps(const Chip& chip, Index ranks) {
  return chip.multiples ? ranks % chip.wraps_at == 0 : ranks == chip.wraps_at;
}

std::vector<std::vector<Index>> shared_sides(std::vector<Index> torus, const std::vector<Index>& sizes) {
  std::vector<std::vector<Index>> parts(sizes.size(), std::vector<Index>(torus.size(), 1));
  for (std::size_t mesh_axis = sizes.size(); mesh_axis-- > 0;) {
    Index left = sizes[mesh_axis];
    for (std::size_t side = torus.size(); side-- > 0;) {
      const Index taken = std::gcd(torus[side], left);
      parts[mesh_axis][side] = taken;
      torus[side] /= taken;
      left /= taken;
    }
  }
  return parts;
}

std::optional<std::vector<Index>> torus_sides(const Chip& chip, Index ranks, int axes) {
  const Index most = chip.multiples ? ranks : chip.wraps_at;
  const std::vector<std::vector<Index>> all = factorings(ranks, axes, most);
  if (all.empty()) return std::nullopt;
  return *std::max_element(all.begin(), all.end(), [&](const std::vector<Index>& a, const std::vector<Index>& b) {
    return worth(chip, a) < worth(chip, b);
  });
}

}  // namespace shardline::roofline
