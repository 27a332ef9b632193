#include "program/partition/convert.h"

#include <algorithm>
#include <queue>
#include <set>

#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

/// A step over one axis, and its cost.
struct Move {
  Conversion conversion;
  Index wire = 0;
};

/// All single steps that may lead from a layout towards the goal.
class Moves {
 public:
  Moves(const AbstractMesh& mesh, const Shape& shape, const Sharding& at, const Sharding& goal)
      : mesh_(mesh), shape_(shape), at_(at), goal_(goal), here_(elements(at)) {
    gathers();
    for (const Axis& axis : mesh_.axes_that_move()) {
      if (contains(at_.unreduced, axis) && !contains(goal_.unreduced, axis)) reductions(axis);
      if (!at_.uses(axis)) appends(axis);
    }
    if (at_ != goal_ && at_.unreduced == goal_.unreduced) reshard();
  }

  const std::vector<Move>& all() const { return moves_; }

 private:
  Index elements(const Sharding& sharding) const { return element_count(largest_local_shape(shape_, sharding, mesh_)); }

  /// Elements that leave a rank when an array of `whole` elements goes once round `axes`.
  Index ring(Index whole, const Axes& axes) const { return whole - whole / mesh_.size(axes); }

  void push(StepKind kind, Axes axes, int from, int to, Sharding result, Index wire) {
    if (result.unreduced.empty()) result.reduce = ReduceOp::sum;
    moves_.push_back({{kind, std::move(axes), from, to, std::move(result)}, wire});
  }

  void gathers() {
    for (std::size_t d = 0; d < at_.dims.size(); ++d) {
      const Axes& axes = at_.dims[d];
      if (axes.empty()) continue;
      const Axis axis = axes.back();
      Sharding gathered = at_;
      gathered.dims[d].pop_back();
      if (!starts_with(goal_.dims[d], axes)) {  // never undo a part of the goal
        push(StepKind::all_gather, {axis}, static_cast<int>(d), -1, gathered, ring(elements(gathered), {axis}));
      }
      for (std::size_t e = 0; e < at_.dims.size(); ++e) {
        if (e == d || !contains(goal_.dims[e], axis)) continue;
        Sharding moved = gathered;
        moved.dims[e].push_back(axis);
        push(StepKind::all_to_all, {axis}, static_cast<int>(d), static_cast<int>(e), moved, ring(here_, {axis}));
      }
    }
  }

  void reductions(const Axis& axis) {
    Sharding paid = at_;
    paid.unreduced = without(at_.unreduced, axis);
    push(StepKind::all_reduce, {axis}, -1, -1, paid, 2 * ring(here_, {axis}));
    if (at_.reduce != ReduceOp::sum) return;
    for (std::size_t e = 0; e < at_.dims.size(); ++e) {
      if (!contains(goal_.dims[e], axis)) continue;
      Sharding scattered = paid;
      scattered.dims[e].push_back(axis);
      push(StepKind::reduce_scatter, {axis}, -1, static_cast<int>(e), scattered, ring(here_, {axis}));
    }
  }

  void appends(const Axis& axis) {
    for (std::size_t e = 0; e < at_.dims.size(); ++e) {
      Sharding sliced = at_;
      sliced.dims[e].push_back(axis);
      if (starts_with(goal_.dims[e], sliced.dims[e])) {
        push(StepKind::slice, {axis}, -1, static_cast<int>(e), sliced, 0);
      }
    }
    if (contains(goal_.unreduced, axis) && goal_.reduce == ReduceOp::sum && at_.reduce == ReduceOp::sum) {
      Sharding owed = at_;
      owed.unreduced = mesh_.in_mesh_order([&] {
        Axes axes = at_.unreduced;
        axes.push_back(axis);
        return axes;
      }());
      push(StepKind::owe, {axis}, -1, -1, owed, 0);
    }
  }

  /// Intersects blocks over every axis of every dim that changes. Uneven nesting shifts inner
  /// blocks too.
  void reshard() {
    std::set<Axis> moved;
    for (std::size_t d = 0; d < at_.dims.size(); ++d) {
      if (at_.dims[d] == goal_.dims[d]) continue;
      moved.insert(at_.dims[d].begin(), at_.dims[d].end());
      moved.insert(goal_.dims[d].begin(), goal_.dims[d].end());
    }
    push(StepKind::reshard, mesh_.in_mesh_order(Axes(moved.begin(), moved.end())), -1, -1, goal_,
         std::max(here_, elements(goal_)));
  }

  const AbstractMesh& mesh_;
  const Shape& shape_;
  const Sharding& at_;
  const Sharding& goal_;
  Index here_;
  std::vector<Move> moves_;
};

/// Appends `next` to `path`. Merges it with the last step if both are one collective over several
/// axes.
void append_merged(std::vector<Conversion>& path, const Conversion& next, const AbstractMesh& mesh) {
  if (!path.empty() && path.back().kind == next.kind) {
    Conversion& last = path.back();
    const auto join = [](Axes a, const Axes& b) {
      a.insert(a.end(), b.begin(), b.end());
      return a;
    };
    const bool same_dims = last.from_dim == next.from_dim && last.to_dim == next.to_dim;
    switch (next.kind) {
      case StepKind::all_gather:
        if (!same_dims) break;
        last.axes = join(next.axes, last.axes);  // the minor axis was gathered first
        last.result = next.result;
        return;
      case StepKind::reduce_scatter:
      case StepKind::slice:
        if (!same_dims) break;
        last.axes = join(last.axes, next.axes);
        last.result = next.result;
        return;
      case StepKind::all_reduce:
      case StepKind::owe:
        last.axes = mesh.in_mesh_order(join(last.axes, next.axes));
        last.result = next.result;
        return;
      default:
        break;
    }
  }
  path.push_back(next);
}

/// How the search reached a layout.
struct Reached {
  ConversionCost cost;
  Conversion last;
  Sharding before;
  bool settled = false;
};

ConversionPath path_to(const std::map<Sharding, Reached>& reached, const Sharding& from, const Sharding& to,
                       const AbstractMesh& mesh) {
  std::vector<Conversion> backwards;
  for (Sharding at = to; at != from; at = reached.at(at).before) backwards.push_back(reached.at(at).last);
  ConversionPath path;
  path.cost = reached.at(to).cost;
  for (auto step = backwards.rbegin(); step != backwards.rend(); ++step) append_merged(path.steps, *step, mesh);
  return path;
}

/// Dijkstra over layouts. Ties go to the layout that was reached first.
ConversionPath shortest_path(const AbstractMesh& mesh, const Shape& shape, const Sharding& from, const Sharding& to) {
  using Entry = std::tuple<ConversionCost, int, Sharding>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::map<Sharding, Reached> reached;
  int order = 0;
  reached[from] = {};
  queue.emplace(ConversionCost{}, order, from);
  while (!queue.empty()) {
    const Sharding at = std::get<2>(queue.top());
    queue.pop();
    Reached& here = reached.at(at);
    if (here.settled) continue;
    here.settled = true;
    if (at == to) return path_to(reached, from, to, mesh);
    const ConversionCost so_far = here.cost;
    const Moves moves(mesh, shape, at, to);
    for (const Move& move : moves.all()) {
      ConversionCost cost = so_far;
      cost += {move.wire, 1};
      const auto known = reached.find(move.conversion.result);
      if (known != reached.end() && known->second.cost <= cost) continue;
      reached[move.conversion.result] = {cost, move.conversion, at, false};
      queue.emplace(cost, ++order, move.conversion.result);
    }
  }
  ConversionPath none;
  none.possible = false;
  return none;
}

}  // namespace

const ConversionPath& Converter::plan(const Shape& shape, const Sharding& from, const Sharding& to) {
  static const ConversionPath kNothing;
  if (from == to) return kNothing;
  const auto [entry, added] = memo_.try_emplace(Key{shape, from, to});
  if (added) entry->second = shortest_path(mesh_, shape, from, to);
  return entry->second;
}

}  // namespace shardline
