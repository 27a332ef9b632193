#include "models/parity/layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr std::size_t kMostAxes = 3;

/// A choice of a factor. The usual one has no name.
struct Choice {
  std::string name;
  void (*apply)(ParityLayout& layout);
};

using Fuse = ScheduleOptions::Fuse;

/// What may differ between two layouts, the mesh and its roles apart.
const std::vector<std::vector<Choice>>& factors() {
  const auto usual = [](ParityLayout&) {};
  static const std::vector<std::vector<Choice>> kFactors = {
      {{"", usual}, {"keep-parameters", [](ParityLayout& l) { l.policy.parameters = Reuse::keep; }}},
      {{"", usual}, {"regather-activations", [](ParityLayout& l) { l.policy.activations = Reuse::regather; }}},
      {{"", usual},
       {"fuse=never", [](ParityLayout& l) { l.schedule.fuse = Fuse::never; }},
       {"fuse=always", [](ParityLayout& l) { l.schedule.fuse = Fuse::always; }}},
      {{"", usual},
       {"overlap=off", [](ParityLayout& l) { l.schedule.overlap = false; }},
       {"prefetch=0", [](ParityLayout& l) { l.schedule.distance = 0; }},
       {"prefetch=3", [](ParityLayout& l) { l.schedule.distance = 3; }}},
      {{"", usual},
       {"bundles=none", [](ParityLayout& l) { l.schedule.bundle_bytes = 0; }},
       {"bundles=all", [](ParityLayout& l) { l.schedule.bundle_bytes = Index{1} << 30; }}},
      {{"", usual}, {"sweeps=tiny", [](ParityLayout& l) { l.schedule.strip_bytes = 1; }}},
      {{"", usual}, {"panels=tiny", [](ParityLayout& l) { l.schedule.panel = Flops(2000); }}},
      {{"", usual},
       {"micro-batches=2", [](ParityLayout& l) { l.form.micro_batches = 2; }},
       {"micro-batches=8", [](ParityLayout& l) { l.form.micro_batches = 8; }}},
      {{"", usual},
       {"remat=matmuls", [](ParityLayout& l) { l.form.remat = Remat::matmuls; }},
       {"remat=stream", [](ParityLayout& l) { l.form.remat = Remat::stream; }},
       {"remat=block", [](ParityLayout& l) { l.form.remat = Remat::block; }}},
      {{"", usual},
       {"timetable=gpipe", [](ParityLayout& l) { l.pipeline.timetable = "gpipe"; }},
       {"timetable=zb_h1", [](ParityLayout& l) { l.pipeline.timetable = "zb_h1"; }},
       {"timetable=interleaved", [](ParityLayout& l) { l.pipeline.timetable = "interleaved"; }},
       {"timetable=interleaved_zb", [](ParityLayout& l) { l.pipeline.timetable = "interleaved_zb"; }},
       {"timetable=zb_v", [](ParityLayout& l) { l.pipeline.timetable = "zb_v"; }}},
      {{"", usual}, {"by-price", [](ParityLayout& l) { l.by_price = true; }}},
      {{"", usual}, {"messages", [](ParityLayout& l) { l.shared_memory = false; }}},
      {{"", usual},
       {"tied", [](ParityLayout& l) { l.task = ParityTask::tied; }},
       {"biases", [](ParityLayout& l) { l.task = ParityTask::biases; }},
       {"masked", [](ParityLayout& l) { l.task = ParityTask::masked; }},
       {"packed", [](ParityLayout& l) { l.task = ParityTask::packed; }},
       {"experts", [](ParityLayout& l) { l.task = ParityTask::experts; }},
       {"dropless", [](ParityLayout& l) { l.task = ParityTask::dropless; }}},
      {{"", usual},
       {"token-order=contiguous", [](ParityLayout& l) { l.token_order = TokenOrder::contiguous; }},
       {"token-order=striped", [](ParityLayout& l) { l.token_order = TokenOrder::striped; }}},
  };
  return kFactors;
}

/// A value for each factor by number: first the mesh, then the role of each axis, then factors(). kNone: the mesh has
/// no such axis.
using Case = std::vector<int>;
constexpr int kNone = -1;
constexpr int kOpen = -2;  ///< not decided yet

/// The values of all factors, and which of them can stand together.
class Space {
 public:
  explicit Space(Index ranks) : meshes_(parity_meshes(ranks)) {
    sizes_.push_back(static_cast<int>(meshes_.size()));
    for (std::size_t axis = 0; axis < kMostAxes; ++axis) sizes_.push_back(static_cast<int>(training_roles().size()));
    for (const auto& choices : factors()) sizes_.push_back(static_cast<int>(choices.size()));
  }

  std::size_t factors_number() const { return sizes_.size(); }
  int size(std::size_t factor) const { return sizes_[factor]; }
  bool is_role(std::size_t factor) const { return factor > 0 && factor <= kMostAxes; }

  /// The number of axes of mesh `number`.
  std::size_t axes(int number) const { return meshes_[static_cast<std::size_t>(number)].axes().size(); }

  /// True if value `a` of factor `f` and value `b` of factor `g` cannot stand together: only one axis makes stages.
  bool clash(std::size_t f, int a, std::size_t g, int b) const {
    const auto stages = [&](std::size_t factor, int value) {
      return is_role(factor) && value >= 0 && makes_stages(training_roles()[static_cast<std::size_t>(value)].row());
    };
    return f != g && stages(f, a) && stages(g, b);
  }

  bool stands(const Case& made) const {
    for (std::size_t f = 0; f < made.size(); ++f) {
      for (std::size_t g = f + 1; g < made.size(); ++g) {
        if (clash(f, made[f], g, made[g])) return false;
      }
    }
    return true;
  }

  /// True if the mesh of `made` has the axis whose role `factor` is.
  bool has(const Case& made, std::size_t factor) const { return !is_role(factor) || factor <= axes(made[0]); }

  ParityLayout layout(const Case& made) const {
    ParityLayout layout{.mesh = meshes_[static_cast<std::size_t>(made[0])], .strategy = {}};
    for (std::size_t axis = 0; axis < layout.mesh.axes().size(); ++axis) {
      const auto role = static_cast<std::size_t>(made[1 + axis]);
      layout.strategy.emplace_back(layout.mesh.axes()[axis], training_roles()[role]);
    }
    for (std::size_t i = 0; i < shardline::factors().size(); ++i) {
      const Choice& choice = shardline::factors()[i][static_cast<std::size_t>(made[1 + kMostAxes + i])];
      choice.apply(layout);
      if (!choice.name.empty()) layout.choices.push_back(choice.name);
    }
    return layout;
  }

 private:
  std::vector<AbstractMesh> meshes_;
  std::vector<int> sizes_;
};

/// A value of one factor beside a value of another, the lower factor first.
using Pair = std::array<int, 4>;

Pair pair_of(std::size_t f, int a, std::size_t g, int b) {
  return f < g ? Pair{static_cast<int>(f), a, static_cast<int>(g), b}
               : Pair{static_cast<int>(g), b, static_cast<int>(f), a};
}

/// All pairs that some mesh allows.
std::set<Pair> pairs_of(const Space& space) {
  std::set<Pair> pairs;
  std::size_t most_axes = 0;
  for (int mesh = 0; mesh < space.size(0); ++mesh) most_axes = std::max(most_axes, space.axes(mesh));
  for (std::size_t f = 0; f < space.factors_number(); ++f) {
    for (std::size_t g = f + 1; g < space.factors_number(); ++g) {
      for (int a = 0; a < space.size(f); ++a) {
        for (int b = 0; b < space.size(g); ++b) {
          const std::size_t axis = space.is_role(g) ? g : space.is_role(f) ? f : 0;
          if (axis > (f == 0 ? space.axes(a) : most_axes) || space.clash(f, a, g, b)) continue;
          pairs.insert(pair_of(f, a, g, b));
        }
      }
    }
  }
  return pairs;
}

/// The number of open pairs that value `b` of factor `g` makes with what `made` has already.
int gain(const Case& made, std::size_t g, int b, const std::set<Pair>& open) {
  int sum = 0;
  for (std::size_t f = 0; f < made.size(); ++f) {
    if (f != g && made[f] >= 0 && open.contains(pair_of(f, made[f], g, b))) ++sum;
  }
  return sum;
}

/// The open factors of `made` get the values that make most open pairs.
void complete(const Space& space, Case& made, const std::set<Pair>& open) {
  for (std::size_t g = 0; g < made.size(); ++g) {
    if (made[g] != kOpen) continue;
    if (g > 0 && !space.has(made, g)) {
      made[g] = kNone;
      continue;
    }
    int best = -1;
    int most = -1;
    for (int b = 0; b < space.size(g); ++b) {
      // A mesh must have the axes whose roles are decided already.
      const auto axes = g == 0 ? space.axes(b) : kMostAxes;
      bool fits = true;
      for (std::size_t f = 0; f < made.size(); ++f) fits = fits && !space.clash(f, made[f], g, b);
      for (std::size_t axis = axes + 1; axis <= kMostAxes; ++axis) fits = fits && made[axis] < 0;
      const int gained = fits ? gain(made, g, b, open) : -1;
      const bool larger = g == 0 && gained == most;  // a mesh of more ranks finds more
      if (gained > most || (larger && gained >= 0)) {
        most = gained;
        best = b;
      }
    }
    made[g] = best;
  }
}

/// The next combination of values, or false after the last. The last factor changes first.
bool advance(const Space& space, Case& made) {
  for (std::size_t g = made.size(); g-- > 0;) {
    if (made[g] == kNone) continue;
    if (++made[g] < space.size(g)) {
      for (std::size_t later = g + 1; later < made.size(); ++later) made[later] = space.has(made, later) ? 0 : kNone;
      return true;
    }
  }
  return false;
}

Case usual_case(const Space& space) {
  Case made(space.factors_number(), 0);
  for (std::size_t g = 0; g < made.size(); ++g) made[g] = space.has(made, g) ? 0 : kNone;
  return made;
}

/// Appends every mesh with at most `axes` axes whose first factors are `sizes` and whose ranks are at most `ranks`.
void append_meshes(std::vector<Index>& sizes, Index product, Index ranks, std::vector<std::vector<Index>>& all) {
  if (!sizes.empty()) all.push_back(sizes);
  if (sizes.size() == kMostAxes) return;
  for (Index size = 2; product * size <= ranks; ++size) {
    sizes.push_back(size);
    append_meshes(sizes, product * size, ranks, all);
    sizes.pop_back();
  }
}

}  // namespace

std::optional<ParityLayout> plain_layout(const ParityLayout& layout) {
  const Axis axis = stage_axis(layout.strategy, layout.mesh);
  if (axis.empty() && layout.form.remat == Remat::none) return std::nullopt;
  ParityLayout plain = layout;
  plain.form.remat = Remat::none;
  if (axis.empty()) return plain;
  plain.strategy = within_stage(layout.strategy);
  plain.mesh = layout.mesh.without(axis);
  return plain;
}

std::string to_string(const ParityLayout& layout) {
  std::vector<std::string> words = {to_string(layout.strategy)};
  words.insert(words.end(), layout.choices.begin(), layout.choices.end());
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<AbstractMesh> parity_meshes(Index ranks) {
  require(ranks >= 1, "{} ranks: at least 1", ranks);
  std::vector<std::vector<Index>> all = {{1}};
  std::vector<Index> sizes;
  append_meshes(sizes, 1, ranks, all);
  const auto product = [](const std::vector<Index>& factors) {
    return std::accumulate(factors.begin(), factors.end(), Index{1}, std::multiplies<>());
  };
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return product(a) < product(b); });
  std::vector<AbstractMesh> meshes;
  for (const std::vector<Index>& factors : all) {
    std::vector<std::string> axes;
    for (std::size_t i = 0; i < factors.size(); ++i) axes.push_back(fmt::format("{}={}", "XYZ"[i], factors[i]));
    meshes.push_back(AbstractMesh::parse(fmt::format("{}", fmt::join(axes, ","))));
  }
  return meshes;
}

std::vector<ParityLayout> paired_layouts(Index ranks) {
  const Space space(ranks);
  std::set<Pair> open = pairs_of(space);
  std::vector<ParityLayout> layouts;
  Case made = usual_case(space);
  while (true) {
    for (std::size_t f = 0; f < made.size(); ++f) {
      for (std::size_t g = f + 1; g < made.size(); ++g) open.erase(pair_of(f, made[f], g, made[g]));
    }
    layouts.push_back(space.layout(made));
    if (open.empty()) return layouts;
    const Pair next = *open.begin();
    made.assign(space.factors_number(), kOpen);
    made[static_cast<std::size_t>(next[0])] = next[1];
    made[static_cast<std::size_t>(next[2])] = next[3];
    complete(space, made, open);
  }
}

void for_each_layout(Index ranks, const std::function<void(const ParityLayout&)>& visit) {
  const Space space(ranks);
  Case made = usual_case(space);
  do {
    if (space.stands(made)) visit(space.layout(made));
  } while (advance(space, made));
}

}  // namespace shardline
