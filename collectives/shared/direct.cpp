#include "collectives/shared/direct.h"

#include <fmt/ranges.h>

#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "collectives/schedule/cells.h"
#include "collectives/schedule/packing.h"
#include "collectives/schedule/schedule.h"
#include "collectives/shared/direct_passes.h"
#include "collectives/shared/direct_run.h"
#include "kernels/reduce.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

// Algorithm `direct`. All ranks are on one node, and their arrays lie in a shared arena. A rank reads the arrays of the
// others and writes only its own, so there are no messages and no rounds. *Flags* in shared memory show the progress of
// a rank: it has started, it has combined its chunk, it has finished reading.
//
// all_gather, all_to_all and shift (MoveRun), for 3 positions. A rank copies from every position that has started. It
// skips a position that has not started yet, and comes back to it later:
//
//     position 0   started | copy 0 | copy 1 | copy 2 | finished | wait until 1 and 2 have finished
//     position 1   started | copy 1 | copy 2 | copy 0 | finished | wait until 2 and 0 have finished
//     position 2   started | copy 2 | copy 0 | copy 1 | finished | wait until 0 and 1 have finished
//
// A shift copies from one position only. The last wait keeps the operand as it is while others read it.
//
// reduce_scatter, and all_reduce of small arrays (ReduceRun). A rank waits until all have started. In one pass it reads
// the operands 0, 1, 2 in this order and writes the combined elements:
//
//     position 0   started | wait for all to start | combine 0, 1, 2 | finished | wait until 1 and 2 have finished
//
// all_reduce of large arrays (TwoPassReduceRun). A rank combines its own chunk only, and copies the other chunks from
// the results of the others. Position 0 has chunk A, 1 has B and 2 has C:
//
//     position 0   started | wait for all to start | combine A | combined | copy B from 1 | copy C from 2 | finished
//
// It copies B once position 1 has combined B. At the end it waits until 1 and 2 have finished, as above.

namespace shardline::collectives {
namespace {

using direct::Call;
using direct::Combination;
using direct::CombinePass;
using direct::CopyPass;
using direct::mix;
using direct::Moves;

/// True if every rank combines whole arrays in an all_reduce.
bool one_pass(const Tuning& tuning, const Job& job, Index bytes) {
  const Index limit = job.positions() == 2 ? tuning.one_pass_bytes_of_two : tuning.one_pass_bytes_of_more;
  return job.input != job.output && bytes < limit;
}

std::string name_positions(const Job& job, const std::vector<Index>& positions) {
  std::vector<std::string> names;
  for (const Index position : positions) names.push_back(job.peer(position));
  return fmt::format("{}", fmt::join(names, ", "));
}

bool streams(const Tensor& out) { return out.bytes() >= direct::kStreamBytes; }

Combination combination(const Job& job) { return {job.op, job.dtype, job.op == ReduceOp::avg ? job.positions() : 1}; }

void check_possible(const Engine& engine, const Job& job, const Tensor& in, const Tensor& out) {
  const std::string obstacle = direct_obstacle(engine, job, in, out);
  if (obstacle.empty()) return;
  usage_error("{}: algorithm direct moves tensors of a shared arena between ranks of one node: {}", job.label(),
              obstacle);
}

/// A part of an array: one dim cut to a range, or the whole array if there is no dim.
struct Cut {
  int dim = -1;
  Range range;
};

/// Walks the common elements of `held` and `wanted`, two parts that cut different dims of an array of shape
/// `logical`.
BoxWalk walk_between(const Shape& logical, Cut held, Cut wanted) {
  BoxWalk walk;
  for (auto d = static_cast<int>(logical.size()); d-- > 0;) {
    const Index n = logical[static_cast<std::size_t>(d)];
    const Range range = d == held.dim ? held.range : d == wanted.dim ? wanted.range : Range{0, n};
    const BoxWalk::Side whole{n, range.begin};
    const BoxWalk::Side part{range.size(), 0};
    walk.add_outer(range.size(), d == held.dim ? part : whole, d == wanted.dim ? part : whole);
  }
  return walk;
}

/// The other positions in the order of the ring, from the own one on. So every position begins with a different
/// one.
std::vector<Index> others(const Job& job) {
  std::vector<Index> result;
  result.reserve(static_cast<std::size_t>(job.positions()));
  for (Index k = 1; k < job.positions(); ++k) result.push_back((job.position() + k) % job.positions());
  return result;
}

/// The own position and then the others.
std::vector<Index> everyone(const Job& job) {
  std::vector<Index> result;
  result.reserve(static_cast<std::size_t>(job.positions()));
  for (Index k = 0; k < job.positions(); ++k) result.push_back((job.position() + k) % job.positions());
  return result;
}

/// The data of a MoveRun. Position q holds `held[q]` along `held_dim`, or the whole array without such a dim.
/// This position wants `wanted`.
struct MovePlan {
  using Pass = CopyPass;

  Call call;
  Shape logical;
  int held_dim = -1;
  std::vector<Range> held;
  Cut wanted;
  bool stream = false;
  std::vector<Index> sources;
  std::optional<direct::Readers> readers{};  ///< default: all others

  /// What `job` takes from `position`, whose operand is `from`.
  Pass pass(const Job& job, Index position, const std::byte* from) const {
    const Range range = held_dim >= 0 ? held[static_cast<std::size_t>(position)] : Range{};
    return {{from, job.output, job.element_size(), stream}, walk_between(logical, {held_dim, range}, wanted)};
  }
};

/// The same for the rows in use of an all_to_all. Position q holds `exchange.gathered[q]` of the gathered dim.
struct RowsPlan {
  using Pass = direct::RowsPass;

  Call call;
  DirectExchange exchange;
  Cells cells;    ///< of the result
  Tensor counts;  ///< keeps the counts of `cells`
  Shape logical;
  bool stream = false;
  std::vector<Index> sources;
  std::optional<direct::Readers> readers{};

  Pass pass(const Job& job, Index position, const std::byte* from) const {
    const Range held = exchange.gathered[static_cast<std::size_t>(position)];
    const Index wanted = exchange.own_split.begin;
    if (exchange.gather_dim == 0) {
      return {{from, 0, wanted, logical[1]}, job.output, cells, {held, {0, exchange.own_split.size()}}, stream};
    }
    return {{from, wanted, 0, held.size()}, job.output, cells, {{0, exchange.own_split.size()}, held}, stream};
  }
};

/// all_gather, all_to_all and shift: copies parts of the operands of some positions into the own result.
template <class Plan>
class MoveRun final : public direct::DirectRun {
 public:
  MoveRun(Arena& arena, Job&& job, Plan plan)
      : DirectRun(arena, std::move(job), plan.call, plan.readers),
        plan_(std::move(plan)),
        moves_(std::move(plan_.sources), {[this](Index position) { return ready(position); },
                                          [this](Index position) { return open(position); }}) {}

 private:
  using Pass = typename Plan::Pass;

  bool read() override { return moves_.advance(kPieceBytes); }
  bool all_read() const override { return moves_.done(); }
  std::string missing_to_read() const override {
    return fmt::format("{} has not started it", name_positions(job(), moves_.left()));
  }
  bool ready(Index position) const { return position == job().position() || meeting().started(position); }
  Pass open(Index position) {
    const bool own = position == job().position();
    Pass pass = plan_.pass(job(), position, own ? job().input : meeting().input(position));
    if (!own) count_read(pass.bytes());
    return pass;
  }

  Plan plan_;
  Moves<Pass> moves_;
};

/// reduce_scatter and one-pass all_reduce: waits until all have started, and combines the operands in order of
/// position.
class ReduceRun : public direct::DirectRun {
 public:
  /// `walk` visits every operand and the own result.
  ReduceRun(Arena& arena, Job&& job, const Call& call, const BoxWalk& walk)
      : DirectRun(arena, std::move(job), call), walk_(walk) {}

 protected:
  bool read() override { return combine(); }
  bool all_read() const override { return combined(); }
  std::string missing_to_read() const override { return fmt::format("{} has not started it", job().peer(seen_)); }

  bool combined() const { return pass_ && pass_->done(); }
  /// True if there was anything to do.
  bool combine() {
    if (!pass_ && !begin()) return false;
    if (!pass_->done()) pass_->advance(kPieceBytes);
    return true;
  }

 private:
  bool begin() {
    while (seen_ < job().positions() && (seen_ == job().position() || meeting().started(seen_))) ++seen_;
    if (seen_ < job().positions()) return false;
    std::vector<kernels::Source> operands;
    operands.reserve(static_cast<std::size_t>(seen_));
    for (Index k = 0; k < seen_; ++k)
      operands.push_back({job().dtype, k == job().position() ? job().input : meeting().input(k)});
    pass_.emplace(combination(job()), std::move(operands), job().output, walk_);
    count_read((seen_ - 1) * pass_->bytes());
    return true;
  }

  BoxWalk walk_;
  Index seen_ = 0;  ///< positions that have started, counted from the first
  std::optional<CombinePass> pass_;
};

/// all_reduce of large arrays: combines this position's chunk, then copies the other chunks from the results of the
/// others. `in` and `out` may be the same memory, because only one position reads each chunk of the operands.
class TwoPassReduceRun final : public ReduceRun {
 public:
  TwoPassReduceRun(Arena& arena, Job&& job, const Call& call, std::vector<Range> chunks, bool stream)
      : ReduceRun(arena, std::move(job), call, chunk_walk(chunks[static_cast<std::size_t>(job.position())])),
        chunks_(std::move(chunks)),
        stream_(stream),
        moves_(others(this->job()), {[this](Index position) { return meeting().combined(position); },
                                     [this](Index position) { return open(position); }}) {}

  static BoxWalk chunk_walk(Range chunk) {
    BoxWalk walk;
    walk.add_outer(chunk.size(), {chunk.end, chunk.begin}, {chunk.end, chunk.begin});
    return walk;
  }

 private:
  bool read() override {
    if (told_) return moves_.advance(kPieceBytes);
    const bool moved = combine();
    if (!combined()) return moved;
    meeting().say_combined();
    told_ = true;
    moves_.advance(kPieceBytes);
    return true;
  }
  bool all_read() const override { return moves_.done(); }
  std::string missing_to_read() const override {
    if (!told_) return ReduceRun::missing_to_read();
    return fmt::format("{} has not combined its chunk", name_positions(job(), moves_.left()));
  }
  CopyPass open(Index position) {
    const Range chunk = chunks_[static_cast<std::size_t>(position)];
    CopyPass pass({meeting().output(position), job().output, job().element_size(), stream_}, chunk_walk(chunk));
    count_read(pass.bytes());
    return pass;
  }

  std::vector<Range> chunks_;
  bool stream_;
  Moves<CopyPass> moves_;
  bool told_ = false;
};

/// Makes the result in scratch. The end copies it to its place, when no rank reads there any more.
void make_result_aside(Engine& engine, Job& job, const Tensor& out) {
  const std::shared_ptr<std::byte> aside = engine.scratch().take(out.bytes());
  if (aside == nullptr) return;
  job.finish = [aside, to = job.output, bytes = static_cast<std::size_t>(out.bytes())] {
    std::memcpy(to, aside.get(), bytes);
  };
  job.output = aside.get();
}

}  // namespace

std::string direct_obstacle(const Engine& engine, const Job& job, const Tensor& in, const Tensor& out) {
  const std::shared_ptr<Arena>& arena = engine.arena();
  if (arena == nullptr) return "the engine has no arena";
  if (job.link != LinkKind::node) {
    return fmt::format("mesh ranks {} are not on one node", fmt::join(job.group->mesh_ranks, ", "));
  }
  if (!arena->contains(in)) return "in does not lie in the arena";
  if (!arena->contains(out)) return "out does not lie in the arena";
  return {};
}

bool direct_possible(const Engine& engine, const Job& job, const Tensor& in, const Tensor& out) {
  return direct_obstacle(engine, job, in, out).empty();
}

std::shared_ptr<CollectiveRun> direct_all_gather(Engine& engine, Job&& job, const Tensor& in, int dim,
                                                 const Tensor& out, std::vector<Range> blocks) {
  check_possible(engine, job, in, out);
  MovePlan plan;
  plan.call = {.kind = Kind::all_gather, .elements = out.size(), .layout = mix(mix(0, dim), out.shape())};
  plan.stream = streams(out);
  plan.logical = out.shape();
  plan.held_dim = dim;
  plan.held = std::move(blocks);
  Index before_own = plan.held[static_cast<std::size_t>(job.position())].begin;
  for (std::size_t d = out.shape().size(); d-- > static_cast<std::size_t>(dim) + 1;) before_own *= out.shape()[d];
  const bool in_place = job.input == job.output + before_own * job.element_size();
  plan.sources = in_place ? others(job) : everyone(job);
  return std::make_shared<MoveRun<MovePlan>>(*engine.arena(), std::move(job), std::move(plan));
}

std::shared_ptr<CollectiveRun> direct_reduce_scatter(Engine& engine, Job&& job, const Tensor& in, int dim,
                                                     const Tensor& out, Range own) {
  check_possible(engine, job, in, out);
  const Call call{.kind = Kind::reduce_scatter, .elements = in.size(), .layout = mix(mix(0, dim), in.shape())};
  return std::make_shared<ReduceRun>(*engine.arena(), std::move(job), call, walk_between(in.shape(), {}, {dim, own}));
}

std::shared_ptr<CollectiveRun> direct_all_reduce(Engine& engine, Job&& job, const Tensor& in, const Tensor& out) {
  check_possible(engine, job, in, out);
  const Call call{.kind = Kind::all_reduce, .elements = in.size(), .layout = mix(0, in.shape())};
  if (one_pass(engine.tuning(), job, in.bytes())) {
    return std::make_shared<ReduceRun>(*engine.arena(), std::move(job), call, walk_between(in.shape(), {}, {}));
  }
  std::vector<Range> chunks;
  chunks.reserve(static_cast<std::size_t>(job.positions()));
  for (Index i = 0; i < job.positions(); ++i) chunks.push_back(block(in.size(), job.positions(), i));
  return std::make_shared<TwoPassReduceRun>(*engine.arena(), std::move(job), call, std::move(chunks), streams(out));
}

std::shared_ptr<CollectiveRun> direct_all_to_all(Engine& engine, Job&& job, const Tensor& in, const Tensor& out,
                                                 DirectExchange exchange) {
  check_possible(engine, job, in, out);
  MovePlan plan;
  plan.stream = streams(out);
  plan.logical = in.shape();
  plan.logical[static_cast<std::size_t>(exchange.gather_dim)] = out.extent(exchange.gather_dim);
  plan.call = {.kind = Kind::all_to_all,
               .elements = element_count(plan.logical),
               .layout = mix(mix(mix(0, exchange.gather_dim), exchange.split_dim), plan.logical)};
  plan.held_dim = exchange.gather_dim;
  plan.held = std::move(exchange.gathered);
  plan.wanted = {exchange.split_dim, exchange.own_split};
  plan.sources = everyone(job);
  if (job.input == job.output) make_result_aside(engine, job, out);
  return std::make_shared<MoveRun<MovePlan>>(*engine.arena(), std::move(job), std::move(plan));
}

std::shared_ptr<CollectiveRun> direct_all_to_all_rows(Engine& engine, Job&& job, const Tensor& in, const Tensor& out,
                                                      DirectExchange exchange, const Tensor& counts, Index first) {
  check_possible(engine, job, in, out);
  RowsPlan plan;
  plan.stream = streams(out);
  plan.logical = in.shape();
  plan.logical[static_cast<std::size_t>(exchange.gather_dim)] = out.extent(exchange.gather_dim);
  constexpr Index kRows = -1;  // no dim: tells the layout from that of an all_to_all
  plan.call = {.kind = Kind::all_to_all,
               .elements = element_count(plan.logical),
               .layout = mix(mix(mix(0, kRows), exchange.gather_dim), plan.logical)};
  plan.cells = cells_of(out, counts, first);
  plan.counts = counts;
  plan.exchange = std::move(exchange);
  plan.sources = everyone(job);
  return std::make_shared<MoveRun<RowsPlan>>(*engine.arena(), std::move(job), std::move(plan));
}

std::shared_ptr<CollectiveRun> direct_shift(Engine& engine, Job&& job, const Tensor& in, Index offset,
                                            const Tensor& out) {
  check_possible(engine, job, in, out);
  const Index distance = ring_position(0, offset, job.positions());
  MovePlan plan;
  plan.call = {.kind = Kind::shift, .elements = in.size(), .layout = mix(0, distance), .wanted = out.size()};
  plan.stream = streams(out);
  plan.logical = {out.size()};
  plan.sources = {ring_position(job.position(), -distance, job.positions())};
  plan.readers = direct::Readers{job.position() + distance, 1};
  if (job.input == job.output) make_result_aside(engine, job, out);
  return std::make_shared<MoveRun<MovePlan>>(*engine.arena(), std::move(job), std::move(plan));
}

}  // namespace shardline::collectives
