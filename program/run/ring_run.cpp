#include "program/run/ring_run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "collectives/schedule/schedule.h"
#include "collectives/shift.h"
#include "kernels/reduce.h"
#include "program/ops/run_phase.h"
#include "runtime/layout/blocks.h"

// Ring attention. Every rank keeps its queries. Blocks of keys and values go round the ring, and each rank adds what it
// has at hand to its state. Here are 3 positions, seen on position 0. K2 is the block of position 2, and dK2 what has
// been added up of its gradient so far. Time goes to the right.
//
// forward:
//     links     | K2 from 2       | K1 from 2       |
//     cores     | own keys K0     | keys K2         | keys K1         |
//
// backward, the gradients travel one hop behind their keys, and come home after the last hop. The rank keeps half of
// its own keys for that time:
//     links     | K2      | K1 from 2       | dK1 from 2      | dK0 from 1 |
//     cores     | half K0 | keys K2, dK2    | keys K1, dK1    | half K0    | + own dK0
//
// A block is cut into segments. Each is a message of its own, and is used as soon as it is there: so the cores wait for
// a segment at the beginning, not for a block. Segments with even numbers go to the next position, those with odd
// numbers to the one before. So both directions of the links are used, and the hops of both look alike.

namespace shardline {
namespace {

constexpr Index kMostSegments = 16;
/// A piece of work has at least so many rows: with fewer, copying keys would count.
constexpr Index kLeastRows = 256;
/// So many parts of a message are posted at once: between two polls a rank computes.
constexpr Index kPosted = 64;

/// The part of `array` within `cuts`, by index. The dims before one that is cut have one element.
Tensor cut_out(const Tensor& array, const Subscripts& subscripts, const std::map<int, Range>& cuts) {
  Tensor part = array;
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const auto cut = cuts.find(subscripts[d]);
    if (cut == cuts.end() || cut->second.size() == part.shape()[d]) continue;
    const auto dim = part.shape().begin() + static_cast<std::ptrdiff_t>(d);
    const Shape before(part.shape().begin(), dim);
    SHARDLINE_CHECK(element_count(before) == 1, "a part of dim {} of {} is not one piece", d, to_string(part.shape()));
    const Tensor rows = part.reshaped(Shape(dim, part.shape().end())).rows(cut->second);
    Shape shape = before;
    shape.insert(shape.end(), rows.shape().begin(), rows.shape().end());
    part = rows.reshaped(std::move(shape));
  }
  return part;
}

/// An array whose blocks go round the ring. A block is rows, over the batch and its part of the dim that is cut. In a
/// buffer every segment has a place of its own, which does not depend on the size of the block.
struct Traveller {
  DType dtype = DType::f32;
  Shape shape;                         ///< of this rank's block
  Tensor own;                          ///< this rank's block
  std::array<Tensor, 2> buffers = {};  ///< flat: blocks of others, of hops with even and with odd numbers
};

class RingRun {
 public:
  RingRun(collectives::Engine& engine, const RankProgram& program, const RingFusion& ring,
          const std::function<Tensor&(VersionId)>& at)
      : engine_(engine),
        program_(program),
        ring_(ring),
        work_(program.steps[static_cast<std::size_t>(ring.computation)]),
        phase_(program.phase_of(work_)),
        kernel_(*phase_.kernel->blockwise),
        at_(at) {
    const Group& group = engine.mesh().moving_group(ring.axes);
    positions_ = group.size();
    position_ = group.position;
    const Operation& op = program.operation_of(work_);
    index_ = op.index_named(kernel_.index);
    rows_ = op.index_named(kernel_.rows);
    blocks_ = nested_blocks(op.extents[static_cast<std::size_t>(index_)], group.axes, engine.mesh().axes());
    take_arrays();
    cut(ring.panel);
  }

  RingTimes run() {
    times_.started = times_.ended = now();
    std::vector<Tensor*> state;
    for (Tensor& array : state_) state.push_back(&array);
    kernel_.begin(state);
    came_.resize(static_cast<std::size_t>(segments_));
    sums_came_.resize(static_cast<std::size_t>(segments_));
    for (Index i = 0; i < segments_; ++i) send_keys(1, i);
    const Index first = ring_.scatters.empty() ? segments_ : segments_ / 2;
    for (Index i = 0; i < first; ++i) visit(0, i);
    for (Index hop = 1; hop < positions_; ++hop) {
      for (Index i = 0; i < segments_; ++i) visit(hop, i);
    }
    for (Index i = first; i < segments_; ++i) visit(0, i);
    for (Index i = 0; i < segments_; ++i) add_home(i);
    std::vector<Tensor*> results;
    for (std::size_t k = 0; k < work_.results.size(); ++k) results.push_back(&result(k));
    kernel_.finish(state, results);
    return std::move(times_);
  }

 private:
  // Arrays.

  void take_arrays() {
    for (const int gather : ring_.gathers) {
      Tensor& own = at_(program_.steps[static_cast<std::size_t>(gather)].operands[0]);
      keys_.push_back(traveller(own, ring_buffers(positions_)));
    }
    const auto travelling = [&](int result) {
      return std::find(ring_.results.begin(), ring_.results.end(), static_cast<std::size_t>(result));
    };
    for (std::size_t s = 0; s < kernel_.shaped_as.size(); ++s) {
      const int shaped_as = kernel_.shaped_as[s];
      Tensor& like = result(static_cast<std::size_t>(shaped_as));
      const bool lent = state_in_result(program_, ring_, static_cast<std::size_t>(shaped_as)) == static_cast<int>(s);
      state_.push_back(lent ? like : Tensor(sum_type(like.dtype()), like.shape()));
      const bool travels = travelling(shaped_as) != ring_.results.end();
      sums_.push_back(travels ? traveller(state_.back(), 2) : Traveller{});
    }
  }

  /// The result as this rank keeps it: after its scatter, if the ring does that.
  Tensor& result(std::size_t number) const {
    const auto travels = std::find(ring_.results.begin(), ring_.results.end(), number);
    if (travels == ring_.results.end()) return at_(work_.results[number]);
    const int scatter = ring_.scatters[static_cast<std::size_t>(travels - ring_.results.begin())];
    return at_(program_.steps[static_cast<std::size_t>(scatter)].results[0]);
  }

  Traveller traveller(const Tensor& own, Index buffers) const {
    Traveller made{.dtype = own.dtype(), .shape = own.shape(), .own = own};
    // Hop 1 uses the buffer of odd hops.
    for (Index b = 0; b < buffers; ++b) {
      made.buffers[static_cast<std::size_t>(1 - b)] = Tensor(own.dtype(), {most_rows() * elements_of(made)});
    }
    return made;
  }

  /// Elements of a row.
  Index elements_of(const Traveller& array) const {
    return element_count(Shape(array.shape.begin() + ring_.dim + 1, array.shape.end()));
  }

  Index batch() const {
    const Tensor& first = at_(program_.steps[static_cast<std::size_t>(ring_.gathers[0])].operands[0]);
    return ring_.dim == 0 ? 1 : first.extent(0);
  }

  /// The rows of the largest block.
  Index most_rows() const {
    Index most = 0;
    for (const Range& block : blocks_) most = std::max(most, block.size());
    return batch() * most;
  }

  /// Where segment `i` of hop `hop` comes from: the position whose block it belongs to.
  Index owner(Index hop, Index i) const {
    return collectives::ring_position(position_, i % 2 == 0 ? -hop : hop, positions_);
  }

  Range block_of(Index position) const { return blocks_[static_cast<std::size_t>(position)]; }

  /// The rows of a segment of a block.
  Range rows_of(Index position, Index i) const { return block(batch() * block_of(position).size(), segments_, i); }

  /// Segment `i` of the block of `position` as it lies here in hop `hop`: [rows, elements].
  Tensor segment_at(const Traveller& array, Index hop, Index position, Index i) const {
    const Index elements = elements_of(array);
    const Range rows = rows_of(position, i);
    if (hop == 0) return array.own.reshaped({batch() * block_of(position).size(), elements}).rows(rows);
    const Tensor& buffer = array.buffers[static_cast<std::size_t>(hop % 2)];
    const Index begin = block(most_rows(), segments_, i).begin * elements;
    return buffer.rows({begin, begin + rows.size() * elements}).reshaped({rows.size(), elements});
  }

  // Messages. All ranks start them in the same order.

  collectives::Handle send(const Traveller& array, Index hop, Index i) const {
    const Tensor out = segment_at(array, hop - 1, owner(hop - 1, i), i);
    Tensor in = segment_at(array, hop, owner(hop, i), i);
    return collectives::start_shift(engine_, ring_.axes, out, i % 2 == 0 ? 1 : -1, in,
                                    {.algorithm = collectives::Algorithm::ring, .window = kPosted});
  }

  /// Segment `i` of the keys leaves for hop `hop`.
  void send_keys(Index hop, Index i) {
    for (const Traveller& array : keys_) came_[static_cast<std::size_t>(i)].push_back(send(array, hop, i));
  }

  void wait(std::vector<collectives::Handle>& handles) {
    const Seconds begin = now();
    for (collectives::Handle& handle : handles) {
      handle.wait();
      times_.ended = std::max(times_.ended, handle.ended());
    }
    handles.clear();
    times_.exposed += now() - begin;
  }

  // Work.

  void visit(Index hop, Index i) {
    if (hop > 0) wait(came_[static_cast<std::size_t>(i)]);
    if (hop > 0 && hop + 1 < positions_) send_keys(hop + 1, i);
    if (hop == 1) clear_sums(i);
    if (hop > 1) wait(sums_came_[static_cast<std::size_t>(i)]);
    compute(hop, i);
    if (hop == 0) return;
    for (const Traveller& array : sums_) {
      if (!array.shape.empty()) sums_came_[static_cast<std::size_t>(i)].push_back(send(array, hop + 1, i));
    }
  }

  void clear_sums(Index i) {
    for (const Traveller& array : sums_) {
      if (array.shape.empty()) continue;
      Tensor sums = segment_at(array, 1, owner(1, i), i);
      if (sums.bytes() > 0) std::memset(sums.data(), 0, static_cast<std::size_t>(sums.bytes()));
    }
  }

  /// What all others have added up of segment `i` of this rank's block.
  void add_home(Index i) {
    wait(sums_came_[static_cast<std::size_t>(i)]);
    for (const Traveller& array : sums_) {
      if (array.shape.empty()) continue;
      const Tensor others = segment_at(array, positions_, position_, i);
      Tensor own = segment_at(array, 0, position_, i);
      const std::array<kernels::Source, 2> from{{{own.dtype(), own.data()}, {others.dtype(), others.data()}}};
      kernels::combine(ReduceOp::sum, from, {own.dtype(), own.data()}, own.size());
    }
  }

  /// A part of a segment: rows of one sequence, and some of this rank's rows of the computation.
  struct Piece {
    Index hop, segment, position;
    Index sequence;
    Range keys;  ///< within the block of `position`
    Range rows;  ///< within this rank's rows of the computation
  };

  /// Adds segment `i` to the state, piece by piece.
  void compute(Index hop, Index i) {
    const Index position = owner(hop, i);
    const Index length = block_of(position).size();
    const Range rows = rows_of(position, i);
    if (rows.size() == 0) return;
    for (Index b = rows.begin / length; b * length < rows.end; ++b) {
      const Range keys{std::max(rows.begin - b * length, Index{0}), std::min(rows.end - b * length, length)};
      for (Index r = 0; r < row_count_; r += row_piece_) {
        compute({hop, i, position, b, keys, {r, std::min(r + row_piece_, row_count_)}});
        while (collectives::poll_all()) {
        }
      }
    }
  }

  int batch_index() const { return phase_.operand_subscripts[ring_.operands[0]][0]; }

  void compute(const Piece& piece) {
    const Range block = block_of(piece.position);
    // In arrays that have all blocks, or none.
    std::map<int, Range> cuts{{rows_, piece.rows},
                              {index_, {block.begin + piece.keys.begin, block.begin + piece.keys.end}}};
    if (ring_.dim > 0) cuts[batch_index()] = {piece.sequence, piece.sequence + 1};
    std::vector<Tensor> operands, state;
    for (std::size_t k = 0; k < work_.operands.size(); ++k) {
      const auto travels = std::find(ring_.operands.begin(), ring_.operands.end(), k);
      operands.push_back(travels == ring_.operands.end()
                             ? cut_out(at_(work_.operands[k]), phase_.operand_subscripts[k], cuts)
                             : part_of(keys_[static_cast<std::size_t>(travels - ring_.operands.begin())], piece));
    }
    for (std::size_t s = 0; s < state_.size(); ++s) {
      const Subscripts& subscripts = phase_.result_subscripts[static_cast<std::size_t>(kernel_.shaped_as[s])];
      const bool travels = !sums_[s].shape.empty();
      state.push_back(travels ? part_of(sums_[s], piece) : cut_out(state_[s], subscripts, cuts));
    }
    std::vector<const Tensor*> read;
    std::vector<Tensor*> written;
    for (const Tensor& array : operands) read.push_back(&array);
    for (Tensor& array : state) written.push_back(&array);
    const Seconds begin = now();
    kernel_.visit({read, written});
    times_.computing.push_back({begin, now()});
  }

  /// The piece of a block, with all dims of the array.
  Tensor part_of(const Traveller& array, const Piece& piece) const {
    const Index first = piece.sequence * block_of(piece.position).size() - rows_of(piece.position, piece.segment).begin;
    Shape shape = array.shape;
    if (ring_.dim > 0) shape[0] = 1;
    shape[static_cast<std::size_t>(ring_.dim)] = piece.keys.size();
    return segment_at(array, piece.hop, piece.position, piece.segment)
        .rows({first + piece.keys.begin, first + piece.keys.end})
        .reshaped(std::move(shape));
  }

  /// How many segments a block has, and how many rows a piece of work. Rank 0 has the largest blocks. All ranks cut as
  /// rank 0 does.
  void cut(Flops panel) {
    const std::vector<Range> ranges = index_ranges(program_, work_, 0);
    const auto extent = [&](int index) { return ranges[static_cast<std::size_t>(index)].size(); };
    const Flops hop =
        phase_cost(program_.program, program_.operation_of(work_), static_cast<std::size_t>(work_.phase), ranges)
            .flops /
        static_cast<double>(positions_);
    segments_ = std::clamp(static_cast<Index>(std::min(hop / panel, static_cast<double>(kMostSegments))),
                           kLeastSegments, kMostSegments);
    row_count_ = index_ranges(program_, work_, engine_.mesh().rank())[static_cast<std::size_t>(rows_)].size();
    const double batch = ring_.dim == 0 ? 1.0 : static_cast<double>(extent(batch_index()));
    const Flops piece = hop / (std::max(1.0, batch) * static_cast<double>(segments_));
    const double share = piece > panel ? panel / piece : 1.0;
    row_piece_ = std::max(kLeastRows, static_cast<Index>(share * static_cast<double>(extent(rows_))));
  }

  collectives::Engine& engine_;
  const RankProgram& program_;
  const RingFusion& ring_;
  const Step& work_;
  const Phase& phase_;
  const BlockwiseKernel& kernel_;
  const std::function<Tensor&(VersionId)>& at_;
  Index positions_ = 1, position_ = 0;
  int index_ = 0, rows_ = 0;     ///< of the operation: that of the blocks, and that of the rows
  std::vector<Range> blocks_;    ///< of the index, by position
  std::vector<Traveller> keys_;  ///< by gather
  std::vector<Tensor> state_;    ///< by array of the state; of travellers the own block
  std::vector<Traveller> sums_;  ///< by array of the state; without a shape if it stays here
  Index segments_ = kLeastSegments;
  Index row_count_ = 0, row_piece_ = 1;
  std::vector<std::vector<collectives::Handle>> came_, sums_came_;  ///< by segment: on their way to the next hop
  RingTimes times_;
};

}  // namespace

RingTimes run_ring(collectives::Engine& engine, const RankProgram& program, const RingFusion& ring,
                   const std::function<Tensor&(VersionId)>& at) {
  return RingRun(engine, program, ring, at).run();
}

}  // namespace shardline
