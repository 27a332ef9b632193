#include "tests/program/simulator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "program/ir/print.h"
#include "program/ops/run_phase.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

constexpr double kTolerance = 1e-10;
/// Arrays of smaller magnitude are compared as if their largest magnitude were this. Gradients that cancel
/// leave only rounding.
constexpr double kSmallest = 1e-3;

/// One block per rank.
using Blocks = std::vector<Tensor>;

std::vector<Range> full(const Shape& shape) {
  std::vector<Range> ranges;
  for (const Index extent : shape) ranges.push_back({0, extent});
  return ranges;
}

Tensor part(const Tensor& x, int dim, Range range) {
  std::vector<Range> ranges = full(x.shape());
  ranges[static_cast<std::size_t>(dim)] = range;
  return x.slice(ranges);
}

Tensor joined(const Blocks& parts, int dim) {
  const auto d = static_cast<std::size_t>(dim);
  Shape shape = parts.at(0).shape();
  shape[d] = 0;
  for (const Tensor& p : parts) shape[d] += p.shape()[d];
  Tensor whole(parts[0].dtype(), shape);
  std::vector<Range> ranges = full(shape);
  ranges[d] = {0, 0};
  for (const Tensor& p : parts) {
    ranges[d] = {ranges[d].end, ranges[d].end + p.shape()[d]};
    whole.assign(ranges, p);
  }
  return whole;
}

Tensor reduced(const Blocks& parts, ReduceOp op) {
  Tensor result = parts.at(0).clone();
  const View<double> out = result.view<double>();
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const View<const double> x = parts[k].view<double>();
    for (Index i = 0; i < out.size(); ++i) out[i] = op == ReduceOp::sum ? out[i] + x[i] : std::max(out[i], x[i]);
  }
  return result;
}

/// A tensor that shows elements without a write: i32 for a `dtype` of integers, else f64.
Tensor unwritten(DType dtype, const Shape& shape) {
  Tensor t(is_integer(dtype) ? DType::i32 : DType::f64, shape);
  if (!is_integer(dtype)) {
    std::fill(t.view<double>().begin(), t.view<double>().end(), std::numeric_limits<double>::quiet_NaN());
  } else {
    std::fill(t.view<std::int32_t>().begin(), t.view<std::int32_t>().end(), -1);
  }
  return t;
}

/// The largest magnitude of an array, of what is in use; infinite elements and NaN make it NaN, which no comparison
/// passes.
double magnitude(const Tensor& x, const std::vector<bool>& used) {
  double largest = 0;
  for (Index i = 0; i < x.size(); ++i) {
    const double e = x.view<double>()[i];
    if (!used[static_cast<std::size_t>(i)]) continue;
    if (!std::isfinite(e)) return std::numeric_limits<double>::quiet_NaN();
    largest = std::max(largest, std::abs(e));
  }
  return largest;
}

class Simulator {
 public:
  Simulator(const RankProgram& program, const Values& reference)
      : program_(program), mesh_(program.mesh), reference_(reference), blocks_(program.versions.size()) {
    for (std::size_t array = 0; array < reference_.size(); ++array) {
      const Tensor& x = reference_[array];
      const std::vector<Range> all = full(x.shape());
      const bool real = x.dtype() == DType::f64 && x.size() > 0;
      scale_.push_back(real ? std::max(kSmallest, magnitude(x, in_use(static_cast<ArrayId>(array), all))) : 0);
    }
  }

  Simulation run() {
    for (const auto& [array, version] : program_.inputs) {
      of(version) = scattered(array, version);
      verify(version);
    }
    for (const Step& step : program_.steps) {
      step_ = &step;
      step.kind == StepKind::compute ? compute(step) : convert(step);
      for (const VersionId v : step.results) verify(v);
    }
    return found_;
  }

 private:
  Blocks& of(VersionId v) { return blocks_.at(static_cast<std::size_t>(v)); }
  const Tensor& reference_of(VersionId v) const {
    return reference_.at(static_cast<std::size_t>(program_.version(v).array));
  }
  std::vector<Range> box_of(VersionId v, Index rank) const {
    return box(program_.array_of(v).shape, program_.version(v).sharding, mesh_, rank);
  }

  /// Blocks of an input. If it is unreduced, they are unequal parts that sum to the value.
  Blocks scattered(ArrayId array, VersionId version) const {
    const Tensor& whole = reference_.at(static_cast<std::size_t>(array));
    Blocks blocks;
    for (Index rank = 0; rank < mesh_.ranks(); ++rank) {
      blocks.push_back(whole.slice(box_of(version, rank)));
      double share = 1;
      for (const Axis& axis : program_.version(version).sharding.unreduced) {
        const auto n = static_cast<double>(mesh_.size(axis));
        const auto c = static_cast<double>(mesh_.coordinates(rank)[mesh_.position(axis)]);
        share *= (c + 1) / (n * (n + 1) / 2);
      }
      if (share == 1) continue;
      for (double& x : blocks.back().view<double>()) x *= share;
    }
    return blocks;
  }

  void compute(const Step& step) {
    const Operation& op = program_.operation_of(step);
    const Phase& phase = program_.phase_of(step);
    for (Index rank = 0; rank < mesh_.ranks(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const Coordinates here = mesh_.coordinates(rank);
      std::vector<Range> ranges;
      for (std::size_t i = 0; i < op.indices.size(); ++i) {
        ranges.push_back(nested_block(op.extents[i], step.splits[i], mesh_, here));
      }
      std::vector<const Tensor*> operands;
      for (const VersionId v : step.operands) operands.push_back(&of(v).at(r));
      std::vector<Tensor*> results;
      for (std::size_t k = 0; k < step.results.size(); ++k) {
        Shape shape;
        for (const int i : phase.result_subscripts[k]) shape.push_back(ranges[static_cast<std::size_t>(i)].size());
        Blocks& blocks = of(step.results[k]);
        blocks.push_back(unwritten(program_.array_of(step.results[k]).dtype, shape));
        results.push_back(&blocks[r]);
      }
      run_phase(program_.program, op, static_cast<std::size_t>(step.phase), ranges, operands, results);
    }
  }

  void convert(const Step& step) {
    for (Index rank = 0; rank < mesh_.ranks(); ++rank) of(step.results[0]).push_back(converted(step, rank));
  }

  Tensor converted(const Step& step, Index rank) {
    const Blocks& from = of(step.operands[0]);
    const Tensor& mine = from.at(static_cast<std::size_t>(rank));
    Blocks group;
    for (const Index other : mesh_.group(rank, step.axes)) group.push_back(from.at(static_cast<std::size_t>(other)));
    const ReduceOp reduce = program_.array_of(step.operands[0]).reduce;
    switch (step.kind) {
      case StepKind::all_gather:
        return joined(group, step.from_dim);
      case StepKind::all_reduce:
        return reduced(group, reduce);
      case StepKind::reduce_scatter:
        return own_part(reduced(group, reduce), step, rank);
      case StepKind::slice:
        return own_part(mine, step, rank);
      case StepKind::all_to_all: {
        for (Tensor& x : group) x = own_part(x, step, rank);
        Tensor made = joined(group, step.from_dim);
        if (moves_rows(step)) spoil_unused(made, step.results[0], step.operands[2], rank);
        return made;
      }
      case StepKind::owe:
        return mesh_.position_in_group(rank, step.axes) == 0 ? mine.clone() : zeros_like(mine);
      case StepKind::reshard:
        return resharded(step, rank);
      case StepKind::send:
      case StepKind::receive:
      case StepKind::compute:
        break;
    }
    throw Error("not a conversion");
  }

  /// Rows of a block that `counts`, a version of the rows in use, does not count: they did not move.
  void spoil_unused(Tensor& block, VersionId made, VersionId counts, Index rank) {
    const Tensor& of_block = of(counts).at(static_cast<std::size_t>(rank));
    const Shape& shape = block.shape();
    const Index row = element_count({shape.begin() + 3, shape.end()});
    const Index first = box_of(made, rank)[2].begin;
    for (Index i = 0; i < block.size(); ++i) {
      if (first + i / row % shape[2] < of_block.view<std::int32_t>()[i / row / shape[2]]) continue;
      block.view<double>()[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }

  Tensor own_part(const Tensor& x, const Step& step, Index rank) const {
    return part(x, step.to_dim, nested_block(x.extent(step.to_dim), step.axes, mesh_, mesh_.coordinates(rank)));
  }

  static Tensor zeros_like(const Tensor& x) { return Tensor::zeros(x.dtype(), x.shape()); }

  /// Collects the new block from all overlapping blocks of the group.
  Tensor resharded(const Step& step, Index rank) {
    const std::vector<Range> goal = box_of(step.results[0], rank);
    Tensor result = unwritten(reference_of(step.results[0]).dtype(), local_shape(program_, step.results[0], rank));
    for (const Index other : mesh_.group(rank, step.axes)) {
      const std::vector<Range> held = box_of(step.operands[0], other);
      std::vector<Range> source;
      std::vector<Range> target;
      bool meets = true;
      for (std::size_t d = 0; d < goal.size(); ++d) {
        const Range common{std::max(goal[d].begin, held[d].begin), std::min(goal[d].end, held[d].end)};
        meets = meets && common.size() > 0;
        source.push_back({common.begin - held[d].begin, common.end - held[d].begin});
        target.push_back({common.begin - goal[d].begin, common.end - goal[d].begin});
      }
      if (meets) result.assign(target, of(step.operands[0]).at(static_cast<std::size_t>(other)).slice(source));
    }
    return result;
  }

  void verify(VersionId v) {
    const Sharding& sharding = program_.version(v).sharding;
    for (Index rank = 0; rank < mesh_.ranks(); ++rank) {
      Coordinates first = mesh_.coordinates(rank);
      for (const Axis& axis : mesh_.axes()) {
        if (!sharding.uses(axis)) first[mesh_.position(axis)] = 0;
      }
      const Index twin = mesh_.rank(first);
      if (twin == rank) {
        compare(v, rank);
      } else {
        compare_replicas(v, twin, rank);
      }
      ++found_.blocks;
    }
  }

  void compare(VersionId v, Index rank) {
    const Sharding& sharding = program_.version(v).sharding;
    const Tensor expected = reference_of(v).slice(box_of(v, rank));
    Tensor actual = of(v).at(static_cast<std::size_t>(rank));
    SHARDLINE_CHECK(actual.shape() == expected.shape(), "{}: rank {} holds {} of shape {} instead of {}", where(), rank,
                    program_.array_of(v).name, to_string(actual.shape()), to_string(expected.shape()));
    if (expected.size() == 0) ++found_.empty_blocks;
    if (expected.dtype() == DType::i32) {
      SHARDLINE_CHECK(same_bits(actual, expected), "{}: wrong ids on rank {}", where(), rank);
      return;
    }
    const std::vector<bool> used = in_use(program_.version(v).array, box_of(v, rank));
    double scale = scale_[static_cast<std::size_t>(program_.version(v).array)];
    if (!sharding.unreduced.empty()) {
      Blocks parts;
      for (const Index other : mesh_.group(rank, sharding.unreduced)) {
        parts.push_back(of(v).at(static_cast<std::size_t>(other)));
        // The exactness of a sum depends on the magnitude of its terms.
        if (sharding.reduce == ReduceOp::sum) scale = std::max(scale, magnitude(parts.back(), used));
      }
      actual = reduced(parts, sharding.reduce);
    }
    const double bound = kTolerance * scale;
    for (Index i = 0; i < expected.size(); ++i) {
      if (!used[static_cast<std::size_t>(i)]) continue;
      const double a = actual.view<double>()[i];
      const double e = expected.view<double>()[i];
      SHARDLINE_CHECK(std::abs(a - e) <= bound, "{}: element {} of {} on rank {} is {} instead of {}", where(), i,
                      program_.array_of(v).name, rank, a, e);
    }
  }

  void compare_replicas(VersionId v, Index twin, Index rank) {
    const Tensor& a = of(v).at(static_cast<std::size_t>(twin));
    const Tensor& b = of(v).at(static_cast<std::size_t>(rank));
    bool same = same_bits(a, b);
    if (!same && program_.array_of(v).rows >= 0 && a.shape() == b.shape()) {
      const std::vector<bool> used = in_use(program_.version(v).array, box_of(v, rank));
      same = true;
      for (Index i = 0; i < a.size(); ++i) {
        same = same && (!used[static_cast<std::size_t>(i)] || a.view<double>()[i] == b.view<double>()[i]);
      }
    }
    SHARDLINE_CHECK(same, "{}: replicas of {} on ranks {} and {} differ", where(), program_.array_of(v).name, twin,
                    rank);
  }

  /// By element of a block: is its row in use?
  std::vector<bool> in_use(ArrayId id, const std::vector<Range>& block) const {
    const Array& array = program_.program.array(id);
    Shape extents;
    for (const Range& range : block) extents.push_back(range.size());
    if (array.rows < 0) return std::vector<bool>(static_cast<std::size_t>(element_count(extents)), true);
    const View<const std::int32_t> counts = reference_.at(static_cast<std::size_t>(array.rows)).view<std::int32_t>();
    const Shape& shape = array.shape;
    const Index row = element_count({shape.begin() + 3, shape.end()});
    Tensor used(DType::i32, shape);
    for (Index i = 0; i < used.size(); ++i) {
      used.view<std::int32_t>()[i] = i / row % shape[2] < counts[i / row / shape[2]] ? 1 : 0;
    }
    const Tensor part = used.slice(block);
    const View<const std::int32_t> flags = part.view<std::int32_t>();
    return std::vector<bool>(flags.begin(), flags.end());
  }

  std::string where() const { return step_ == nullptr ? "input" : to_string(program_, *step_); }

  static bool same_bits(const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
    return a.size() == 0 || std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
  }

  const RankProgram& program_;
  const AbstractMesh& mesh_;
  const Values& reference_;
  std::vector<double> scale_;   ///< largest magnitude, by array
  std::vector<Blocks> blocks_;  ///< by version
  const Step* step_ = nullptr;  ///< the current step; null while inputs arrive
  Simulation found_;
};

/// Documents of a few tokens: their begins, for tokens in order.
std::int32_t random_start(const CounterRng& rng, Index place, Index tokens) {
  Index start = place % tokens;
  while (start > 0 && rng.below(place / tokens * tokens + start, 3) > 0) --start;
  return static_cast<std::int32_t>(start);
}

/// An element of an array of i32: positions, begins of documents, or ids.
std::int32_t random_integer(const Program& program, const Array& array, const CounterRng& rng, Index i) {
  if (array.role == Role::positions) return static_cast<std::int32_t>(i);
  if (array.name == "starts") return random_start(rng, i, array.shape.at(1));
  return static_cast<std::int32_t>(rng.below(i, program.sizes.at("V")));
}

double random_element(const Array& array, const CounterRng& rng, Index i) {
  switch (array.role) {
    case Role::whole:
      return array.name == "step" ? 3 : array.name == "learning_rate" ? 0.01 : 1;
    case Role::parameter:
      return array.dims.size() == 1 ? 1 + 0.1 * rng.normal(i) : 0.5 * rng.normal(i);
    case Role::optimizer_state:
      return array.name[0] == 'v' ? 1e-4 + rng.uniform(i) : 0.1 * rng.normal(i);
    default:
      return rng.normal(i);
  }
}

}  // namespace

Values random_inputs(const Program& program, std::uint64_t seed) {
  Values values(program.arrays.size());
  for (const ArrayId id : program.inputs) {
    const Array& array = program.array(id);
    const CounterRng rng(seed, array.name);
    Tensor& value = values[static_cast<std::size_t>(id)];
    value = Tensor(is_integer(array.dtype) ? DType::i32 : DType::f64, array.shape);
    for (Index i = 0; i < value.size(); ++i) {
      if (is_integer(array.dtype)) {
        value.view<std::int32_t>()[i] = random_integer(program, array, rng, i);
      } else {
        value.view<double>()[i] = random_element(array, rng, i);
      }
    }
  }
  return values;
}

Values run_unsharded(const Program& program, Values values) {
  values.resize(program.arrays.size());
  for (const Operation& op : program.operations) {
    const std::vector<Range> ranges = full(op.extents);
    for (std::size_t p = 0; p < op.phases.size(); ++p) {
      std::vector<const Tensor*> operands;
      for (const ArrayId a : op.phases[p].operands) operands.push_back(&values.at(static_cast<std::size_t>(a)));
      std::vector<Tensor*> results;
      for (const ArrayId a : op.phases[p].results) {
        Tensor& result = values.at(static_cast<std::size_t>(a));
        result = unwritten(program.array(a).dtype, program.array(a).shape);
        results.push_back(&result);
      }
      run_phase(program, op, p, ranges, operands, results);
    }
  }
  return values;
}

Simulation simulate(const RankProgram& program, const Values& reference) { return Simulator(program, reference).run(); }

}  // namespace shardline
