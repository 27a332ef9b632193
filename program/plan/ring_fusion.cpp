#include "program/plan/ring_fusion.h"

#include <algorithm>
#include <map>
#include <set>

#include "program/plan/flight_rules.h"

namespace shardline {
namespace {

/// Finds the rings of a program.
class RingFinder {
 public:
  explicit RingFinder(const RankProgram& program) : program_(program) {
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      for (const VersionId v : program.steps[i].results) makers_[v] = static_cast<int>(i);
      for (const VersionId v : program.steps[i].operands) readers_[v].insert(static_cast<int>(i));
    }
    for (const auto& [array, version] : program.finals) readers_[version].insert(kOutside);
  }

  std::vector<RingGroup> find() {
    std::map<int, RingFusion> rings;
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      if (program_.steps[i].kind != StepKind::compute || blockwise(step(static_cast<int>(i))) == nullptr) continue;
      if (std::optional<RingFusion> ring = ring_of(static_cast<int>(i))) rings.emplace(i, std::move(*ring));
    }
    std::vector<RingGroup> groups;
    std::set<int> seen;
    for (const auto& [computation, ring] : rings) {
      if (seen.contains(computation)) continue;
      const std::set<int> together = readers_of_same(computation, rings);
      seen.insert(together.begin(), together.end());
      if (!std::all_of(together.begin(), together.end(), [&](int each) { return rings.contains(each); })) continue;
      RingGroup& group = groups.emplace_back();
      for (const int each : together) group.push_back(rings.at(each));
    }
    return groups;
  }

 private:
  static constexpr int kOutside = -1;  ///< a reader that is no step

  const Step& step(int number) const { return program_.steps[static_cast<std::size_t>(number)]; }
  const BlockwiseKernel* blockwise(const Step& computation) const {
    return program_.phase_of(computation).kernel->blockwise;
  }

  static int dim_of(const Subscripts& subscripts, int index) {
    const auto found = std::find(subscripts.begin(), subscripts.end(), index);
    return found == subscripts.end() ? -1 : static_cast<int>(found - subscripts.begin());
  }

  std::optional<RingFusion> ring_of(int number) const {
    const Step& work = step(number);
    const BlockwiseKernel& kernel = *blockwise(work);
    const Operation& op = program_.operation_of(work);
    const Phase& phase = program_.phase_of(work);
    const int index = op.index_named(kernel.index);
    RingFusion ring{.computation = number};
    for (std::size_t k = 0; k < work.operands.size(); ++k) {
      const auto maker = makers_.find(work.operands[k]);
      const int dim = dim_of(phase.operand_subscripts[k], index);
      if (dim < 0 || maker == makers_.end() || step(maker->second).kind != StepKind::all_gather) continue;
      const Step& gather = step(maker->second);
      if (gather.from_dim != dim || dim > 1 || !is_cut_by(gather, dim)) return std::nullopt;
      if (ring.gathers.empty()) {
        ring.axes = gather.axes;
        ring.dim = dim;
      }
      if (gather.axes != ring.axes || dim != ring.dim) return std::nullopt;
      ring.gathers.push_back(maker->second);
      ring.operands.push_back(k);
    }
    if (ring.gathers.empty() || !splits_rows(work, op.index_named(kernel.rows), ring.axes)) return std::nullopt;
    if (!add_scatters(ring, phase, index)) return std::nullopt;
    return ring;
  }

  /// True if the axes of the gather, and no others, split the dim before.
  bool is_cut_by(const Step& gather, int dim) const {
    return program_.version(gather.operands[0]).sharding.dims[static_cast<std::size_t>(dim)] == gather.axes;
  }

  static bool splits_rows(const Step& work, int rows, const Axes& axes) {
    return std::all_of(axes.begin(), axes.end(),
                       [&](const Axis& axis) { return contains(work.splits[static_cast<std::size_t>(rows)], axis); });
  }

  /// Every result with the index must be reduced into the blocks, and nothing else may read it.
  bool add_scatters(RingFusion& ring, const Phase& phase, int index) const {
    const Step& work = step(ring.computation);
    for (std::size_t k = 0; k < work.results.size(); ++k) {
      const int dim = dim_of(phase.result_subscripts[k], index);
      if (dim < 0) continue;
      const auto readers = readers_.find(work.results[k]);
      if (readers == readers_.end() || readers->second.size() != 1 || readers->second.contains(kOutside)) return false;
      const int number = *readers->second.begin();
      const Step& scatter = step(number);
      if (scatter.kind != StepKind::reduce_scatter || scatter.to_dim != dim || scatter.axes != ring.axes) return false;
      ring.scatters.push_back(number);
      ring.results.push_back(k);
    }
    return true;
  }

  /// All steps that read a gathered array of the ring, or of the rings that read it too.
  std::set<int> readers_of_same(int computation, const std::map<int, RingFusion>& rings) const {
    std::set<int> all{computation};
    std::vector<int> open{computation};
    while (!open.empty()) {
      const auto ring = rings.find(open.back());
      open.pop_back();
      if (ring == rings.end()) continue;
      for (const int gather : ring->second.gathers) {
        for (const int reader : readers_.at(step(gather).results[0])) {
          if (all.insert(reader).second) open.push_back(reader);
        }
      }
    }
    return all;
  }

  const RankProgram& program_;
  std::map<VersionId, int> makers_;
  std::map<VersionId, std::set<int>> readers_;
};

/// How many times the bytes of an element its sums take.
double widening(DType dtype) {
  return static_cast<double>(size_of(sum_type(dtype))) / static_cast<double>(size_of(dtype));
}

Index positions_of(const RankProgram& program, const Axes& axes) {
  Index positions = 1;
  for (const Axis& axis : axes) positions *= program.mesh.size(axis);
  return positions;
}

}  // namespace

std::vector<RingGroup> possible_rings(const RankProgram& program) { return RingFinder(program).find(); }

Index ring_buffers(Index positions) { return std::min<Index>(2, positions - 1); }

int state_in_result(const RankProgram& program, const RingFusion& ring, std::size_t result) {
  const Step& work = program.steps[static_cast<std::size_t>(ring.computation)];
  const std::array<int, 3>& shaped_as = program.phase_of(work).kernel->blockwise->shaped_as;
  const DType dtype = program.array_of(work.results[result]).dtype;
  const auto found = std::find(shaped_as.begin(), shaped_as.end(), static_cast<int>(result));
  if (found == shaped_as.end() || sum_type(dtype) != dtype) return -1;
  return static_cast<int>(found - shaped_as.begin());
}

Seconds ring_moves(const RankProgram& program, const RingFusion& ring, const std::vector<StepEstimate>& estimates) {
  Seconds moving;
  for (const int gather : ring.gathers) moving += estimates[static_cast<std::size_t>(gather)].price.time;
  for (const int scatter : ring.scatters) {
    const VersionId made = program.steps[static_cast<std::size_t>(scatter)].results[0];
    moving += estimates[static_cast<std::size_t>(scatter)].price.time * widening(program.array_of(made).dtype);
  }
  return moving;
}

double times_moved(const RankProgram& program, const std::vector<RingFusion>& rings, int step) {
  double times = 0;
  for (const RingFusion& ring : rings) {
    times += static_cast<double>(std::count(ring.gathers.begin(), ring.gathers.end(), step));
    if (std::find(ring.scatters.begin(), ring.scatters.end(), step) == ring.scatters.end()) continue;
    times += widening(program.array_of(program.steps[static_cast<std::size_t>(step)].results[0]).dtype);
  }
  return times > 0 ? times : 1;
}

Seconds ring_time(Seconds work, Seconds moving, const RingFusion& ring, const RankProgram& program,
                  const roofline::Hardware& hardware) {
  if (!frees_cores(ring.axes, hardware)) return work + moving;
  const auto segments = static_cast<double>(kLeastSegments * positions_of(program, ring.axes));
  return std::max(work, moving) + std::min(work, moving) / segments;
}

Bytes ring_bytes(const RankProgram& program, const RingFusion& ring, Index rank) {
  const Step& work = program.steps[static_cast<std::size_t>(ring.computation)];
  const auto buffers = static_cast<double>(ring_buffers(positions_of(program, ring.axes)));
  Bytes bytes;
  for (const int gather : ring.gathers) {  // the largest block of all ranks comes by
    bytes += local_bytes(program, program.steps[static_cast<std::size_t>(gather)].operands[0], 0) * buffers;
  }
  const std::array<int, 3>& shaped_as = program.phase_of(work).kernel->blockwise->shaped_as;
  for (std::size_t s = 0; s < shaped_as.size(); ++s) {
    const auto result = static_cast<std::size_t>(shaped_as[s]);
    const auto travels = std::find(ring.results.begin(), ring.results.end(), result);
    VersionId like = work.results[result];
    if (travels != ring.results.end()) {
      const int scatter = ring.scatters[static_cast<std::size_t>(travels - ring.results.begin())];
      like = program.steps[static_cast<std::size_t>(scatter)].results[0];
    }
    const double wider = widening(program.array_of(like).dtype);
    if (travels != ring.results.end()) bytes += local_bytes(program, like, 0) * (2 * wider);
    if (state_in_result(program, ring, result) != static_cast<int>(s))
      bytes += local_bytes(program, like, rank) * wider;
  }
  return bytes;
}

}  // namespace shardline
