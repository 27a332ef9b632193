#include "program/product/written_collective.h"

#include <algorithm>
#include <array>
#include <set>

#include "runtime/base/check.h"

namespace shardline {
namespace {

/// What a collective does with each of its axes.
struct Effect {
  const char* name;
  bool gathers;  ///< removes it from a dim
  bool pays;     ///< removes it from the debts
  bool shards;   ///< adds it to a dim
};

constexpr std::array kEffects = {
    Effect{"AllGather", true, false, false}, Effect{"ReduceScatter", false, true, true},
    Effect{"AllReduce", false, true, false}, Effect{"AllReduceMax", false, true, false},
    Effect{"AllToAll", true, false, true},   Effect{"Slice", false, false, true},
    Effect{"Owe", false, false, false},
};

std::string written_text(const ParsedArray& array) { return to_string(array.name, array.dims, array.sharding); }

/// Where an array has an axis: the number of the dim; -1 for nowhere; -2 if it owes on it.
int place_of(const Sharding& sharding, const Axis& axis) {
  return contains(sharding.unreduced, axis) ? -2 : sharding.dim_of(axis);
}

Axes axes_of_dims(const Sharding& sharding) {
  Axes all;
  for (const Axes& axes : sharding.dims) all.insert(all.end(), axes.begin(), axes.end());
  return all;
}

class Written {
 public:
  Written(const ParsedCollective& collective, const ParsedArray& operand, const std::optional<ParsedArray>& result,
          const AbstractMesh& mesh)
      : collective_(collective), operand_(operand), result_(result), mesh_(mesh) {
    read_subscript();
  }

  ParsedArray made() {
    if (collective_.name == "Reshard") return resharded();
    const Effect effect = *std::find_if(kEffects.begin(), kEffects.end(),
                                        [&](const Effect& each) { return collective_.name == each.name; });
    if (axes_.empty()) axes_ = axes_meant(effect);
    if (effect.pays) check_reduction();
    if (!effect.shards || dim_ >= 0) return checked(after(effect, dim_));
    require(result_.has_value(), "{} shards a dim of {}: name it, as in {}_{{{},{}}}, or give the result", written(),
            written_text(operand_), collective_.name, axes_.empty() ? "X" : axes_[0],
            operand_.dims.empty() ? "J" : operand_.dims.back());
    for (std::size_t d = 0; d < operand_.dims.size(); ++d) {
      const ParsedArray each = after(effect, static_cast<int>(d));
      if (each.sharding == result_->sharding) return each;
    }
    usage_error("{} of {} does not make {}", written(), written_text(operand_), written_text(*result_));
  }

 private:
  std::string written() const {
    return collective_.name + (collective_.subscript.empty() ? "" : "_" + to_string(collective_.subscript));
  }

  /// The last of several names is a dim if a dim has this name and no axis has it.
  void read_subscript() {
    axes_ = resolve(collective_.subscript, mesh_);
    if (collective_.subscript.size() > 1 && !mesh_.has(axes_.back())) {
      const auto dim = std::find(operand_.dims.begin(), operand_.dims.end(), axes_.back());
      if (dim != operand_.dims.end()) {
        dim_ = static_cast<int>(dim - operand_.dims.begin());
        axes_.pop_back();
      }
    }
    for (const Axis& axis : axes_) {
      require(mesh_.has(axis), "{} of {}: mesh {} has no axis {}", written(), written_text(operand_), mesh_.to_string(),
              axis);
    }
  }

  Axes axes_meant(const Effect& effect) const {
    if (!result_) return effect.pays ? operand_.sharding.unreduced : axes_of_dims(operand_.sharding);
    Axes axes;
    for (const Axis& axis : mesh_.axes()) {
      if (place_of(operand_.sharding, axis) != place_of(result_->sharding, axis)) axes.push_back(axis);
    }
    return axes;
  }

  void check_reduction() const {
    const bool maxima = operand_.sharding.reduce == ReduceOp::max;
    require(maxima || collective_.name != "AllReduceMax", "{} of {}: maxima that are owed are written {{Max_X}}",
            written(), written_text(operand_));
    require(!maxima || collective_.name != "ReduceScatter", "{} of {}: it takes sums; maxima take AllReduceMax",
            written(), written_text(operand_));
  }

  /// The operand after the collective. If the collective shards a dim, `dim` gets the axes.
  ParsedArray after(const Effect& effect, int dim) const {
    ParsedArray array = operand_;
    Sharding& sharding = array.sharding;
    for (const Axis& axis : axes_) {
      const int from = place_of(sharding, axis);
      require(effect.gathers == (from >= 0) && effect.pays == (from == -2), "{} of {}: {}", written(),
              written_text(operand_),
              effect.gathers ? fmt::format("axis {} shards no dim of it", axis)
              : effect.pays  ? fmt::format("nothing is owed on {}", axis)
                             : fmt::format("it has axis {} already", axis));
      if (from >= 0)
        sharding.dims[static_cast<std::size_t>(from)] = without(sharding.dims[static_cast<std::size_t>(from)], axis);
      if (from == -2) sharding.unreduced = without(sharding.unreduced, axis);
    }
    if (effect.shards) {
      Axes& axes = sharding.dims[static_cast<std::size_t>(dim)];
      axes.insert(axes.end(), axes_.begin(), axes_.end());
    }
    if (!effect.gathers && !effect.pays && !effect.shards) {
      sharding.unreduced.insert(sharding.unreduced.end(), axes_.begin(), axes_.end());
    }
    return resolve(std::move(array), mesh_);
  }

  ParsedArray checked(ParsedArray made) const {
    require(!result_ || made.sharding == result_->sharding, "{} of {} makes {}, not {}", written(),
            written_text(operand_), written_text(made), result_ ? written_text(*result_) : "");
    return made;
  }

  /// A reshard changes dims in any way, over all axes of the dims that change.
  ParsedArray resharded() const {
    require(result_.has_value(), "{} of {} may make many layouts: give the result", written(), written_text(operand_));
    std::set<Axis> moved;
    for (std::size_t d = 0; d < std::min(operand_.dims.size(), result_->dims.size()); ++d) {
      const Axes& from = operand_.sharding.dims[d];
      const Axes& to = result_->sharding.dims[d];
      if (from == to) continue;
      moved.insert(from.begin(), from.end());
      moved.insert(to.begin(), to.end());
    }
    const bool named = axes_.empty() || std::set<Axis>(axes_.begin(), axes_.end()) == moved;
    require(named && operand_.sharding.unreduced == result_->sharding.unreduced,
            "{} of {} does not make {}: a reshard is over all axes of the dims that change, and settles no debt",
            written(), written_text(operand_), written_text(*result_));
    return *result_;
  }

  const ParsedCollective& collective_;
  const ParsedArray& operand_;
  const std::optional<ParsedArray>& result_;
  const AbstractMesh& mesh_;
  Axes axes_;
  int dim_ = -1;
};

}  // namespace

ParsedArray result_of(const ParsedCollective& collective, const ParsedArray& operand,
                      const std::optional<ParsedArray>& result, const AbstractMesh& mesh) {
  return Written(collective, operand, result, mesh).made();
}

}  // namespace shardline
