// Ring attention beside attention over gathered keys, and both beside attention pair by pair.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "program/ir/print.h"
#include "program/ops/attention.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/plan/choose_fusions.h"
#include "program/run/execute.h"
#include "program/transform/differentiate.h"
#include "runtime/base/counter_rng.h"
#include "runtime/layout/blocks.h"
#include "runtime/mesh/dist_tensor.h"
#include "runtime/mpi/communicator.h"
#include "tests/kernels/attention/attention_plain.h"
#include "tests/program/prices.h"

namespace shardline {
namespace {

using kernels::testing::Places;

struct Sizes {
  Index B, T, K, G, H;
};

/// How the tokens of a sequence lie, and where documents begin.
struct Order {
  const char* name;
  std::vector<std::int32_t> (*positions)(Index tokens, Index ranks);
  bool packed = false;
};

std::vector<std::int32_t> contiguous(Index tokens, Index) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(tokens));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Rank r has the positions r, r + p, r + 2 p, ...
std::vector<std::int32_t> striped(Index tokens, Index ranks) {
  std::vector<std::int32_t> all;
  for (Index rank = 0; rank < ranks; ++rank) {
    for (Index t = rank; t < tokens; t += ranks) all.push_back(static_cast<std::int32_t>(t));
  }
  return all;
}

/// No order that a reader has: ring attention must be right in any.
std::vector<std::int32_t> shuffled(Index tokens, Index) {
  std::vector<std::int32_t> all = contiguous(tokens, 1);
  for (Index i = tokens - 1; i > 0; --i) {
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>((i * 7919 + 13) % (i + 1))]);
  }
  return all;
}

const std::vector<Order>& orders() {
  static const std::vector<Order> kOrders = {{"contiguous", contiguous},
                                             {"striped, packed", striped, true},
                                             {"shuffled", shuffled},
                                             {"packed", contiguous, true}};
  return kOrders;
}

/// Documents of 3, 1, 4, 1, 5, ... tokens: where the document of a position begins, in sequence b.
std::int32_t start_of(Index b, std::int32_t position) {
  static constexpr std::array<std::int32_t, 5> kLengths = {3, 1, 4, 1, 5};
  std::int32_t begin = 0;
  for (std::size_t d = static_cast<std::size_t>(b);; ++d) {
    const std::int32_t end = begin + kLengths[d % kLengths.size()];
    if (position < end) return begin;
    begin = end;
  }
}

class Ring : public testing::Test {
 protected:
  const mpi::Communicator world_ = mpi::Communicator::world();
  /// Four ranks make two axes, which split a sequence together.
  const bool two_axes_ = world_.size() == 4;
  const Axes axes_ = two_axes_ ? Axes{"X", "Y"} : Axes{"X"};
  const Mesh mesh_{two_axes_ ? AbstractMesh::parse("X=2,Y=2") : AbstractMesh({{"X", world_.size()}}), world_};
  collectives::Engine engine_{mesh_};
  const roofline::Hardware prices_ = bandwidth_bound(mesh_.axes());

  struct Made {
    RankProgram program;
    std::map<std::string, ArrayId> of;
  };

  /// Attention and its gradient, with the tokens of every sequence split by all axes.
  Made made(const Sizes& s, bool packed, DType dtype, Reuse reuse = Reuse::keep) const {
    Program p;
    p.dtype = dtype;
    p.sizes = {{"B", s.B}, {"T", s.T}, {"K", s.K}, {"G", s.G}, {"H", s.H}};
    std::map<std::string, ArrayId> of;
    of["q"] = p.add_input("q", {"B", "T", "K", "G", "H"}, Role::activation);
    of["k"] = p.add_input("k", {"B", "T", "K", "H"}, Role::activation);
    of["v"] = p.add_input("v", {"B", "T", "K", "H"}, Role::activation);
    of["d_o"] = p.add_input("d_o", {"B", "T", "K", "G", "H"}, Role::activation);
    of["positions"] = p.add_input("positions", {"T"}, Role::positions);
    of["starts"] = packed ? p.add_input("starts", {"B", "T"}, Role::tokens) : ArrayId{-1};
    of["o"] = attention(p, "o", of["q"], of["k"], of["v"], of["positions"], of["starts"]);
    p.region = {Pass::backward, 1};
    const auto gradients = differentiate(p, {{of["o"], of["d_o"]}}, {of["q"], of["k"], of["v"]});
    for (const char* name : {"q", "k", "v"}) of["d_" + std::string(name)] = gradients.at(of[name]);
    p.outputs = {of["o"], of["d_q"], of["d_k"], of["d_v"]};
    std::map<ArrayId, Sharding> layouts;
    for (const auto& [name, array] : of) {
      if (array < 0) continue;
      layouts[array] = Sharding::replicated(p.array(array).dims.size());
      if (name != "positions") layouts[array].dims[1] = axes_;
    }
    RankProgram program =
        partition(p, mesh_.axes(), {.layouts = layouts, .work = {{"X", {"T"}}}, .policy = {.activations = reuse}});
    check(program);
    return {std::move(program), std::move(of)};
  }

  std::shared_ptr<Compiled> compiled(const RankProgram& program, ScheduleOptions::Fuse fuse, double panel = 2e3) const {
    return compile(program, {.scheduling = ScheduleOptions{.fuse = fuse, .panel = Flops(panel)}, .prices = prices_});
  }

  static double element(const std::string& name, Index i, DType dtype) {
    const double value = CounterRng(3, name).normal(i);
    return dtype == DType::bf16 ? static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value)))) : value;
  }

  /// This rank's blocks of o, d_q, d_k and d_v.
  std::map<std::string, Tensor> run(const Made& made, const std::shared_ptr<const Compiled>& compiled,
                                    const std::vector<std::int32_t>& positions) {
    Executor executor(compiled, engine_);
    for (const auto& [name, id] : made.of) {
      if (id < 0 || !compiled->program().inputs.contains(id)) continue;
      const Array& array = compiled->program().program.array(id);
      const ArraySpec spec{.name = array.name,
                           .dims = array.dims,
                           .shape = array.shape,
                           .sharding = compiled->program().declared.at(id),
                           .dtype = array.dtype};
      const Index tokens = static_cast<Index>(positions.size());
      const auto at = [&](Index i) { return positions[static_cast<std::size_t>(i % tokens)]; };
      executor.set(id, DistTensor::make(mesh_, spec, [&, &input = name](Index i) -> double {
                         if (input == "positions") return at(i);
                         if (input == "starts") return start_of(i / tokens, at(i));
                         return element(input, i, array.dtype);
                       }).local());
    }
    executor.run();
    std::map<std::string, Tensor> blocks;
    for (const char* name : {"o", "d_q", "d_k", "d_v"}) blocks[name] = executor.get(made.of.at(name)).clone();
    return blocks;
  }

  /// The same arrays whole, pair by pair in f64.
  std::map<std::string, kernels::testing::Array<double>> expected(const Made& made, const Sizes& s, bool packed,
                                                                  const std::vector<std::int32_t>& positions) const {
    using kernels::testing::Array;
    const auto filled = [&](const char* name) {
      const auto& array = made.program.program.array(made.of.at(name));
      Array<double> values(array.shape);
      for (Index i = 0; i < values.size(); ++i) values[i] = element(name, i, array.dtype);
      return values;
    };
    Places places{positions, positions};
    for (Index b = 0; packed && b < s.B; ++b) {
      for (const std::int32_t at : positions) places.starts.push_back(start_of(b, at));
    }
    const auto y =
        kernels::testing::attend_pair_by_pair<double>(filled("q"), filled("k"), filled("v"), filled("d_o"), places);
    return {{"o", y.o}, {"d_q", y.dq}, {"d_k", y.dk}, {"d_v", y.dv}};
  }

  /// The largest distance of this rank's block from the whole array.
  double distance(const Made& made, const std::string& name, const Tensor& block,
                  const kernels::testing::Array<double>& whole) const {
    const Array& array = made.program.program.array(made.of.at(name));
    const std::vector<Range> ranges =
        box(array.shape, made.program.declared.at(made.of.at(name)), mesh_.axes(), mesh_.rank());
    Tensor all(DType::f64, array.shape);
    for (Index i = 0; i < all.size(); ++i) all.view<double>()[i] = whole[i];
    const Tensor mine = all.slice(ranges), got = block.as(DType::f64);
    EXPECT_EQ(mine.shape(), got.shape());
    double worst = 0;
    for (Index i = 0; i < mine.size(); ++i) {
      const double off = std::abs(mine.view<double>()[i] - got.view<double>()[i]);
      worst = off <= worst ? worst : off;  // NaN becomes the worst
    }
    return worst;
  }
};

TEST_F(Ring, GivesWhatGatheredKeysAndAllPairsGive) {
  const Index p = mesh_.ranks();
  for (Index tokens = 1; tokens <= 4 * p + 1; tokens += tokens < 2 * p + 2 ? 1 : 2) {
    for (const Sizes& s : {Sizes{1, tokens, 2, 3, 4}, Sizes{3, tokens, 1, 2, 5}}) {
      for (const Order& order : orders()) {
        SCOPED_TRACE(fmt::format("{} tokens, {} sequences, {}", tokens, s.B, order.name));
        const Made program = made(s, order.packed, DType::f64);
        const std::vector<std::int32_t> positions = order.positions(tokens, p);
        const auto whole = expected(program, s, order.packed, positions);
        for (const auto fuse : {ScheduleOptions::Fuse::never, ScheduleOptions::Fuse::always}) {
          const auto way = compiled(program.program, fuse);
          // One token over two axes: no gather has all of them.
          const bool rings = p > 1 && fuse == ScheduleOptions::Fuse::always && !(two_axes_ && tokens == 1);
          EXPECT_EQ(way->schedule().rings.size(), rings ? 2U : 0U);
          for (const auto& [name, block] : run(program, way, positions)) {
            EXPECT_LT(distance(program, name, block, whole.at(name)), 1e-10) << name;
          }
        }
      }
    }
  }
}

/// A rank has more rows than a piece of work, and more than one piece of keys in a segment.
TEST_F(Ring, CutsLongBlocksIntoPieces) {
  const Index p = mesh_.ranks();
  if (p > 4) GTEST_SKIP() << "every rank compares all pairs";
  const Sizes s{2, 600 * p + 7, 1, 1, 2};
  const Made program = made(s, true, DType::f64);
  const std::vector<std::int32_t> positions = striped(s.T, p);
  const auto whole = expected(program, s, true, positions);
  for (const auto& [name, block] : run(program, compiled(program.program, ScheduleOptions::Fuse::always), positions)) {
    EXPECT_LT(distance(program, name, block, whole.at(name)), 1e-10) << name;
  }
}

/// Sums of bf16 are f32 all the way, and rounded once. So the ring is as near to the truth as gathered keys are.
TEST_F(Ring, IsAsExactInBf16AsGatheredKeys) {
  const Sizes s{2, 8 * mesh_.ranks() + 3, 2, 2, 8};
  const Made program = made(s, false, DType::bf16);
  const std::vector<std::int32_t> positions = striped(s.T, mesh_.ranks());
  const auto whole = expected(program, s, false, positions);
  std::map<std::string, double> gathered, ring;
  for (const auto& [name, block] : run(program, compiled(program.program, ScheduleOptions::Fuse::never), positions)) {
    gathered[name] = world_.max(distance(program, name, block, whole.at(name)));
  }
  for (const auto& [name, block] : run(program, compiled(program.program, ScheduleOptions::Fuse::always), positions)) {
    ring[name] = world_.max(distance(program, name, block, whole.at(name)));
  }
  for (const auto& [name, worst] : ring) {
    // Half a unit in the last place of values below 8, and no more than a little beside the gathered way.
    EXPECT_LT(worst, 0.04) << name;
    EXPECT_LE(worst, 1.5 * gathered.at(name) + 1e-3) << name;
  }
}

/// Both gathers of a pass, and the scatters of the gradients, are left out. Nobody holds all keys.
TEST_F(Ring, LeavesOutTheGathersAndTheScatters) {
  if (mesh_.ranks() == 1) GTEST_SKIP() << "one rank gathers nothing";
  for (const Reuse reuse : {Reuse::keep, Reuse::regather}) {
    const Made program = made({2, 64, 2, 1, 8}, false, DType::f64, reuse);
    const auto ring = compiled(program.program, ScheduleOptions::Fuse::always);
    const auto gathered = compiled(program.program, ScheduleOptions::Fuse::never);
    ASSERT_EQ(ring->schedule().rings.size(), 2U);
    for (const Action& action : ring->schedule().actions) {
      if (action.kind == ActionKind::ring) continue;
      for (const int number : action.steps) {
        const Step& step = program.program.steps[static_cast<std::size_t>(number)];
        EXPECT_NE(step.kind, StepKind::all_gather) << to_string(program.program, step);
        EXPECT_NE(step.kind, StepKind::reduce_scatter) << to_string(program.program, step);
      }
    }
    if (mesh_.ranks() == 2) continue;  // the other block is all that there is
    EXPECT_LT(ring->liveness().peak(0), gathered->liveness().peak(0));
  }
}

/// A ring is chosen where moving hides behind computing, and where nothing hides it is not.
TEST_F(Ring, IsChosenByPrice) {
  if (mesh_.ranks() == 1) GTEST_SKIP() << "one rank gathers nothing";
  const Made program = made({1, 512, 2, 1, 16}, false, DType::f32);
  roofline::Hardware beside = prices_;
  for (auto& [axis, link] : beside.links) link.frees_cores = true, link.bandwidth = BytesPerSecond(1e9);
  const ScheduleOptions priced{};
  EXPECT_EQ(choose_fusions(program.program, beside, priced).rings.size(), 2U);
  EXPECT_TRUE(choose_fusions(program.program, prices_, priced).rings.empty());
  EXPECT_EQ(choose_fusions(program.program, prices_, {.rings_for_memory = true}).rings.size(), 2U);
  EXPECT_TRUE(choose_fusions(program.program, beside, {.fuse = ScheduleOptions::Fuse::never}).rings.empty());
}

}  // namespace
}  // namespace shardline
