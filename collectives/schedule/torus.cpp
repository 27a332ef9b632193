#include "collectives/schedule/torus.h"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>

namespace shardline::collectives {
namespace {

/// Each route has two strands, and a schedule has at most kMostStrands.
constexpr std::size_t kMostRoutes = kMostStrands / 2;

Line line_along(std::size_t axis, const Placement& placement, Algorithm algorithm) {
  Line line;
  std::vector<Index> at = placement.coordinates(placement.position);
  line.index = at[axis];
  for (Index k = 0; k < placement.axis_sizes[axis]; ++k) {
    at[axis] = k;
    line.members.push_back(placement.position_at(at));
  }
  line.hops = hops_on(line.length(), algorithm);
  return line;
}

Route whole_group(const Placement& placement) {
  const Index positions = placement.positions();
  Line line{{}, placement.position, hops_on(positions, Algorithm::ring)};
  for (Index k = 0; k < positions; ++k) line.members.push_back(k);
  return {{}, {std::move(line)}, 0, 1};
}

/// The rotations of the axes, with `shares` of the payload.
std::vector<Route> rotations(const Placement& placement, const std::vector<double>& shares) {
  const std::size_t axes = placement.axis_sizes.size();
  std::vector<Route> routes;
  double begin = 0;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    Route route;
    for (std::size_t j = 0; j < axes; ++j) {
      route.axes.push_back((r + j) % axes);
      route.lines.push_back(line_along(route.axes.back(), placement, Algorithm::bidirectional));
    }
    route.begin = begin;
    begin = r + 1 == shares.size() ? 1 : begin + shares[r];
    route.end = begin;
    routes.push_back(std::move(route));
  }
  return routes;
}

/// Shares of the rotations that keep all links into a rank busy equally long in an all_gather. Each other rank
/// of an axis sends all blocks that were gathered along the axes before.
std::vector<double> balanced_shares(const std::vector<Index>& sizes) {
  const auto axes = static_cast<Eigen::Index>(sizes.size());
  const auto size = [&](Eigen::Index axis) { return static_cast<double>(sizes[static_cast<std::size_t>(axis)]); };
  Eigen::MatrixXd equations = Eigen::MatrixXd::Zero(axes + 1, axes + 1);
  for (Eigen::Index r = 0; r < axes; ++r) {
    double gathered = 1;
    for (Eigen::Index j = 0; j < axes; ++j) {
      const Eigen::Index axis = (r + j) % axes;
      const double links = size(axis) > 2 ? 2 : 1;
      equations(axis, r) = (size(axis) - 1) * gathered / links;
      gathered *= size(axis);
    }
    equations(axes, r) = 1;
  }
  equations.col(axes).head(axes).setConstant(-1);  // minus the time that all links take
  Eigen::VectorXd right = Eigen::VectorXd::Zero(axes + 1);
  right(axes) = 1;
  const Eigen::VectorXd solution = equations.fullPivLu().solve(right);
  std::vector<double> shares;
  double sum = 0;
  for (Eigen::Index r = 0; r < axes; ++r) {
    shares.push_back(std::max(0.0, solution(r)));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace

Hops hops_on(Index length, Algorithm algorithm) {
  if (algorithm == Algorithm::ring || length <= 2) return {length - 1, 0, false};
  return {length / 2, length / 2, length % 2 == 0};
}

Range Route::part(Range block) const {
  const auto at = [&](double fraction) {
    return block.begin + static_cast<Index>(std::llround(static_cast<double>(block.size()) * fraction));
  };
  return {at(begin), at(end)};
}

std::vector<Index> positions_along(const Route& route, Range lines, const Placement& placement, Index position) {
  std::vector<Index> positions{position};
  for (Index j = lines.begin; j < lines.end; ++j) {
    const std::size_t axis = route.axes[static_cast<std::size_t>(j)];
    std::vector<Index> more;
    for (const Index at : positions) {
      std::vector<Index> coordinates = placement.coordinates(at);
      for (Index k = 0; k < placement.axis_sizes[axis]; ++k) {
        coordinates[axis] = k;
        more.push_back(placement.position_at(coordinates));
      }
    }
    positions = std::move(more);
  }
  std::sort(positions.begin(), positions.end());
  return positions;
}

std::vector<Route> gather_routes(Algorithm algorithm, const Placement& placement) {
  if (placement.positions() == 1) return {};
  if (algorithm == Algorithm::ring) return {whole_group(placement)};
  const std::size_t axes = placement.axis_sizes.size();
  // With more axes there are not enough strands for every rotation. The first rotation alone is still correct.
  if (axes == 1 || axes > kMostRoutes) return rotations(placement, {1.0});
  return rotations(placement, balanced_shares(placement.axis_sizes));
}

std::vector<Route> exchange_routes(Algorithm algorithm, const Placement& placement) {
  if (placement.positions() == 1) return {};
  if (algorithm == Algorithm::ring) return {whole_group(placement)};
  const std::size_t axes = placement.axis_sizes.size();
  const std::size_t routes = axes > kMostRoutes ? 1 : axes;
  return rotations(placement, std::vector<double>(routes, 1.0 / static_cast<double>(routes)));
}

Strands::Strands(Schedule& schedule) : schedule_(schedule), first_(schedule.strands.size()) {
  schedule.strands.resize(first_ + 2);
}

void Strands::add(Direction direction, Round round) {
  std::vector<Need>& pending = pending_[static_cast<std::size_t>(direction)];
  round.needs.insert(round.needs.end(), pending.begin(), pending.end());
  pending.clear();
  strand(direction).push_back(std::move(round));
}

void Strands::meet() {
  for (const Direction direction : kDirections) {
    const auto other = direction == Direction::right ? Direction::left : Direction::right;
    pending_[static_cast<std::size_t>(direction)] = {
        {static_cast<Index>(first_ + static_cast<std::size_t>(other)), static_cast<Index>(strand(other).size())}};
  }
}

std::pair<Range, Range> halves(Range range) {
  const Index middle = range.begin + (range.size() + 1) / 2;
  return {{range.begin, middle}, {middle, range.end}};
}

Range half(Range range, Direction direction) {
  const auto [first, second] = halves(range);
  return direction == Direction::right ? first : second;
}

}  // namespace shardline::collectives
