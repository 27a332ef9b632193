#include "runtime/layout/abstract_mesh.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "runtime/base/check.h"
#include "runtime/base/lists.h"
#include "runtime/base/number.h"

namespace shardline {
namespace {

bool is_axis_name(const Axis& name) {
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
         std::all_of(name.begin(), name.end(), word);
}

std::pair<Axis, Index> axis_of(const NamedValue& given, const std::string& text) {
  require(given.value.has_value(), "mesh \"{}\": \"{}\" is not NAME=SIZE, as in X=2,Y=4", text, given.item);
  const std::optional<Index> size = whole_number<Index>(*given.value);
  require(size.has_value(), "mesh \"{}\": size \"{}\" of axis {} is not a whole number", text, *given.value,
          given.name);
  return {given.name, *size};
}

}  // namespace

AbstractMesh::AbstractMesh(const std::vector<std::pair<Axis, Index>>& axes) {
  for (const auto& [name, size] : axes) {
    require(is_axis_name(name), "mesh axis \"{}\" is not a name: letters, digits and _, starting with a letter", name);
    require(!has(name), "mesh axis {} is given twice", name);
    require(size >= 1, "mesh axis {} has size {}; sizes start at 1", name, size);
    require(!__builtin_mul_overflow(ranks_, size, &ranks_), "mesh has more ranks than 63 bits count");
    names_.push_back(name);
    sizes_.push_back(size);
  }
}

AbstractMesh AbstractMesh::parse(const std::string& text) {
  std::vector<std::pair<Axis, Index>> axes;
  for (const NamedValue& each : named_values(text)) axes.push_back(axis_of(each, text));
  AbstractMesh mesh(axes);
  constexpr Index kMostRanks = Index{1} << 24;
  require(mesh.ranks() <= kMostRanks, "mesh \"{}\" has {} ranks; at most {}", text, mesh.ranks(), kMostRanks);
  return mesh;
}

std::size_t AbstractMesh::position(const Axis& axis) const {
  const auto found = std::find(names_.begin(), names_.end(), axis);
  if (found == names_.end()) usage_error("there is no axis {} in mesh {}", axis, to_string());
  return static_cast<std::size_t>(found - names_.begin());
}

Index AbstractMesh::size(const Axis& axis) const { return sizes_[position(axis)]; }

Index AbstractMesh::size(const Axes& axes) const {
  Index product = 1;
  for (const Axis& axis : axes) product *= size(axis);
  return product;
}

Coordinates AbstractMesh::coordinates(Index rank) const {
  SHARDLINE_CHECK(rank >= 0 && rank < ranks_, "rank {} is not in mesh {}", rank, to_string());
  Coordinates result(sizes_.size());
  for (std::size_t i = sizes_.size(); i-- > 0;) {
    result[i] = rank % sizes_[i];
    rank /= sizes_[i];
  }
  return result;
}

Index AbstractMesh::rank(const Coordinates& coordinates) const {
  SHARDLINE_CHECK(coordinates.size() == sizes_.size(), "{} coordinates for mesh {}", coordinates.size(), to_string());
  Index rank = 0;
  for (std::size_t i = 0; i < sizes_.size(); ++i) rank = rank * sizes_[i] + coordinates[i];
  return rank;
}

std::vector<Index> AbstractMesh::group(Index rank, const Axes& axes) const {
  Coordinates at = coordinates(rank);
  std::vector<Index> ranks;
  const Index count = size(axes);
  for (Index k = 0; k < count; ++k) {
    Index rest = k;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const std::size_t axis = position(axes[i]);
      at[axis] = rest % sizes_[axis];
      rest /= sizes_[axis];
    }
    ranks.push_back(this->rank(at));
  }
  return ranks;
}

Index AbstractMesh::position_in_group(Index rank, const Axes& axes) const {
  const Coordinates at = coordinates(rank);
  Index result = 0;
  for (const Axis& axis : axes) result = result * size(axis) + at[position(axis)];
  return result;
}

Axes AbstractMesh::in_mesh_order(Axes axes) const {
  std::sort(axes.begin(), axes.end(), [this](const Axis& a, const Axis& b) { return position(a) < position(b); });
  return axes;
}

Axes AbstractMesh::axes_that_move() const {
  Axes result;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (sizes_[i] > 1) result.push_back(names_[i]);
  }
  return result;
}

AbstractMesh AbstractMesh::without(const Axis& axis) const {
  std::vector<std::pair<Axis, Index>> others;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (i != position(axis)) others.emplace_back(names_[i], sizes_[i]);
  }
  return AbstractMesh(others);
}

std::string AbstractMesh::to_string() const {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < names_.size(); ++i) items.push_back(fmt::format("{}:{}", names_[i], sizes_[i]));
  return fmt::format("{{{}}}", fmt::join(items, ", "));
}

}  // namespace shardline
