// Prefill and decode against a Transformer of plain loops that computes the whole sequence at once. In one job of eight
// ranks, the first ranks form each mesh in turn. Sequences differ in length, and the model in heads, experts and ties.

#include "models/generation/decode_trial.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "runtime/base/counter_rng.h"
#include "runtime/layout/blocks.h"
#include "tests/models/generation/plain_transformer.h"
#include "tests/models/small_training.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

constexpr Index kNewTokens = 4;

TransformerConfig small_config() {
  return {.vocab = 11, .d_model = 6, .layers = 2, .heads = 6, .kv_heads = 2, .head_dim = 4, .d_ff = 10};
}

TransformerConfig with_experts() {
  TransformerConfig config = small_config();
  config.experts = {.count = 4, .chosen = 2};
  return config;
}

/// The same element of a parameter on every mesh.
double weight(const std::string& name, Index i) {
  const double normal = CounterRng(3, name).normal(i);
  return name[0] == 'w' ? 1 + 0.1 * normal : 0.4 * normal;
}

void fill_weights(State& state, const Model& model) {
  for (const ModelParameter& parameter : model.parameters) {
    const std::string& name = model.program.array(parameter.array).name;
    state.fill(name, [&](Index i) { return weight(name, i); });
  }
}

using Prompts = std::vector<std::vector<std::int32_t>>;

/// Prompts of these lengths.
Prompts prompts_of(const std::vector<Index>& lengths, Index vocabulary) {
  Prompts prompts;
  const CounterRng rng(4, "prompts");
  Index drawn = 0;
  for (const Index length : lengths) {
    auto& prompt = prompts.emplace_back();
    for (Index t = 0; t < length; ++t) prompt.push_back(static_cast<std::int32_t>(rng.below(drawn++, vocabulary)));
  }
  return prompts;
}

std::int32_t likeliest(const std::vector<double>& logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// Of each sequence: what follows it greedily, and the logits of every step.
struct Continued {
  Prompts texts;
  std::vector<std::vector<std::vector<double>>> logits;
};

Continued continued_by_loops(const TransformerConfig& config, const Prompts& prompts) {
  const PlainTransformer plain(config, weight);
  Continued made{prompts, {}};
  for (auto& text : made.texts) {
    auto& logits = made.logits.emplace_back();
    for (Index i = 0; i < kNewTokens; ++i) {
      logits.push_back(plain.logits(text).back());
      text.push_back(likeliest(logits.back()));
    }
  }
  return made;
}

std::vector<double> row_of(const Tensor& logits, std::size_t b) {
  const auto row = static_cast<Index>(b);
  const Tensor one = logits.rows({row, row + 1}).as(DType::f64);
  const View<const double> values = one.view<double>();
  return {values.begin(), values.end()};
}

/// The largest difference of the logits of a step, over their largest magnitude.
double step_difference(const Tensor& logits, const Continued& expected, std::size_t step) {
  double worst = 0;
  for (std::size_t b = 0; b < expected.texts.size(); ++b) {
    const std::vector<double> ours = row_of(logits, b), &theirs = expected.logits[b][step];
    double most = 0, gap = 0;
    for (std::size_t v = 0; v < ours.size(); ++v) {
      most = std::max(most, std::abs(theirs[v]));
      gap = std::max(gap, std::abs(ours[v] - theirs[v]));
    }
    worst = std::max(worst, gap / most);
  }
  return worst;
}

/// The expected token of each text in a step.
std::vector<std::int32_t> tokens_of_step(const Prompts& prompts, const Continued& expected, std::size_t step) {
  std::vector<std::int32_t> next;
  for (std::size_t b = 0; b < prompts.size(); ++b) next.push_back(expected.texts[b][prompts[b].size() + step]);
  return next;
}

/// That of all steps, along the expected texts.
double difference(Generator& generator, const Prompts& prompts, const Continued& expected) {
  double worst = 0;
  const Tensor* logits = &generator.prefill(prompts);
  for (std::size_t step = 0; step < static_cast<std::size_t>(kNewTokens); ++step) {
    worst = std::max(worst, step_difference(*logits, expected, step));
    const std::vector<std::int32_t> next = tokens_of_step(prompts, expected, step);
    if (step + 1 < static_cast<std::size_t>(kNewTokens)) logits = &generator.decode(next);
  }
  return worst;
}

/// Collectives may go on while the ranks compute.
CompileOptions scheduled(const AbstractMesh& mesh, const ScheduleOptions& options) {
  roofline::Hardware prices{"test", FlopsPerSecond(1e10), BytesPerSecond(1e10), Seconds(1e-6), {}};
  for (const Axis& axis : mesh.axes()) prices.links[axis] = {Seconds(1e-6), BytesPerSecond(1e9)};
  return {.scheduling = options, .prices = prices};
}

/// Types and how far from the truth they may lead.
struct Types {
  DType dtype = DType::f64;
  std::optional<DType> caches = {};
  double tolerance = 1e-10;
};

/// Half a unit in the last of the 8 bits of bf16.
constexpr double kBf16Rounding = 1.0 / 512;

struct Case {
  std::string mesh;
  std::string decode;
  std::string prefill = {};  ///< empty: as decode
  bool own_prefill = false;
};

class Generation : public testing::Test {
 protected:
  /// Collective over all ranks: every case on a mesh of at most `ranks` ranks, with prompts of these lengths.
  void expect_equal(const TransformerConfig& config, const std::vector<Case>& cases, const std::vector<Index>& lengths,
                    Index chunk, const Types& types = {}) {
    const Prompts prompts = prompts_of(lengths, config.vocab);
    const Continued expected = continued_by_loops(config, prompts);
    const Index longest = *std::max_element(lengths.begin(), lengths.end());
    for (const Case& each : cases) {
      const AbstractMesh mesh = AbstractMesh::parse(each.mesh);
      if (mesh.ranks() > world_.size()) continue;
      SCOPED_TRACE(each.mesh + " " + each.decode + " " + each.prefill);
      on_first(world_, static_cast<int>(mesh.ranks()), [&](const mpi::Communicator& part) {
        GenerationForm form{.sequences = static_cast<Index>(prompts.size()),
                            .context = longest + kNewTokens + 3,
                            .longest = longest,
                            .chunk = chunk,
                            .dtype = types.dtype,
                            .cache_dtype = types.caches,
                            .decode = parse_strategy(each.decode, mesh, RoleUse::generation)};
        if (!each.prefill.empty()) form.prefill = parse_strategy(each.prefill, mesh, RoleUse::generation);
        if (scheduling_) form.how = scheduled(mesh, *scheduling_);
        form.own_prefill = each.own_prefill;
        const Mesh ranks(mesh, part);
        collectives::Engine engine(ranks);
        Generator generator(engine, GenerationPlan(config, form, mesh), fill_weights);
        for (const Compiled* program : generator.plan().programs()) {
          for (const Action& action : program->schedule().actions) ++actions_[action.kind];
        }
        EXPECT_LE(difference(generator, prompts, expected), types.tolerance);
        EXPECT_LE(difference(generator, prompts, expected), types.tolerance)
            << "the second time, over what the first left";
      });
    }
  }

  mpi::Communicator world_ = mpi::Communicator::world();
  std::optional<ScheduleOptions> scheduling_;  ///< of all programs; none: every step at its place
  std::map<ActionKind, int> actions_;          ///< of all programs that ran
};

const std::vector<Case> kCases = {
    {"X=1", "dp=X"},
    {"X=2", "dp=X"},
    {"X=3", "fsdp=X"},
    {"X=2", "tp_rep=X"},
    {"X=3", "tp_rep=X"},
    {"X=2", "tp=X"},
    {"X=3", "tp_seq=X"},
    {"X=4", "rep_b=X"},
    {"X=4", "rep_s=X"},
    {"X=3", "rep_s=X"},
    {"X=3", "ws=X"},
    {"X=2,Y=2", "fsdp=X,tp=Y"},
    {"X=2,Y=2", "ws=X,tp=Y"},
    {"X=2,Y=3", "ws=X,tp_rep=Y"},
    {"Y=2,Z=3", "tp_rep=Y,rep_b=Z"},
    {"Y=2,Z=2", "tp_rep=Y,rep_s=Z"},
    {"Y=2,Z=4", "tp_rep=Y,rep_s=Z"},
    {"X=2,Y=2,Z=2", "ws=X,tp_rep=Y,rep_s=Z"},
    {"X=2,Y=2,Z=2", "rep_s=X,tp_rep=Y,rep_s=Z"},
    {"X=8", "cp_s=X"},
    {"Y=2,Z=2", "tp_rep=Y,rep_s=Z", "tp_rep=Y,cp_s=Z"},
    {"Y=2,Z=3", "tp_rep=Y,rep_s=Z", "tp_seq=Y,cp_s=Z"},
    {"Y=2,Z=4", "tp_rep=Y,rep_b=Z", "tp_seq=Y,dp=Z"},
    {"Y=2,Z=2", "tp=Y,ws=Z", "tp_seq=Y,fsdp=Z"},
    {"X=3", "tp_rep=X", "dp=X"},
    {"X=3", "rep_s=X", "fsdp=X"},
    {"X=4", "dp=X", "tp_rep=X"},
    {"Y=2,Z=2", "rep_b=Y,rep_s=Z", "ws=Y,dp=Z"},
};

TEST_F(Generation, DecodesWhatTheWholeSequenceGives) { expect_equal(small_config(), kCases, {7, 3, 1, 5}, 0); }

TEST_F(Generation, InChunksThatDoNotDivideThePrompts) { expect_equal(small_config(), kCases, {9, 8, 1}, 4); }

TEST_F(Generation, OfOneSequenceOnManyRanks) { expect_equal(small_config(), kCases, {5}, 0); }

TEST_F(Generation, OfPromptsOfOneToken) { expect_equal(small_config(), kCases, {1, 1}, 0); }

TEST_F(Generation, WithTiedWeightsAndBiases) {
  TransformerConfig config = small_config();
  config.tied = true;
  config.qkv_biases = true;
  expect_equal(config, kCases, {4, 6}, 0);
}

TEST_F(Generation, WithExperts) {
  std::vector<Case> cases = kCases;
  for (const Case& each : std::vector<Case>{{"X=2", "ep_rep=X"},
                                            {"X=3", "ep=X"},
                                            {"Y=2,Z=2", "ep_rep=Y,rep_b=Z"},
                                            {"Y=2,Z=3", "ep_rep=Y,rep_s=Z"},
                                            {"X=4", "tp_ep=X"}}) {
    cases.push_back(each);
  }
  expect_equal(with_experts(), cases, {4, 6, 2}, 3);
}

TEST_F(Generation, InSmallerTypes) {
  expect_equal(small_config(), kCases, {7, 3}, 0, {.dtype = DType::f32, .tolerance = 1e-4});
  expect_equal(small_config(), kCases, {7, 3}, 0, {.dtype = DType::bf16, .tolerance = 0.1});
}

/// Caches of another type round what they hold, queries and the results of attention: 12 times the rounding of bf16 in
/// these logits.
TEST_F(Generation, WithCachesOfASmallerType) {
  expect_equal(small_config(), kCases, {7, 3, 1}, 4, {.dtype = DType::f64, .caches = DType::f64});
  expect_equal(small_config(), kCases, {7, 3, 1}, 4, {.dtype = DType::f64, .caches = DType::f32, .tolerance = 1e-5});
  const double bf16 = 12 * kBf16Rounding;
  expect_equal(small_config(), kCases, {7, 3, 1}, 4, {.dtype = DType::f32, .caches = DType::bf16, .tolerance = bf16});
  expect_equal(with_experts(), {{"Y=2,Z=3", "ep_rep=Y,rep_s=Z"}}, {4, 6}, 3,
               {.dtype = DType::f64, .caches = DType::f32, .tolerance = 1e-5});
}

/// The logits after the prompts and after each of some tokens, as bytes.
std::string bytes_of_run(const mpi::Communicator& comm, const Case& each, std::optional<DType> caches) {
  const AbstractMesh mesh = AbstractMesh::parse(each.mesh);
  const TransformerConfig config = small_config();
  const GenerationForm form{.sequences = 2,
                            .context = 9,
                            .longest = 5,
                            .dtype = DType::f64,
                            .cache_dtype = caches,
                            .decode = parse_strategy(each.decode, mesh, RoleUse::generation)};
  const Mesh ranks(mesh, comm);
  collectives::Engine engine(ranks);
  Generator generator(engine, GenerationPlan(config, form, mesh), fill_weights);
  std::string bytes;
  const auto add = [&](const Tensor& logits) {
    bytes.append(reinterpret_cast<const char*>(logits.data()), static_cast<std::size_t>(logits.bytes()));
  };
  add(generator.prefill(prompts_of({5, 2}, config.vocab)));
  for (std::int32_t token = 0; token < 3; ++token) add(generator.decode({token, token + 1}));
  return bytes;
}

TEST_F(Generation, WithCachesOfTheTypeOfTheModelHasTheSameBits) {
  for (const Case& each : kCases) {
    const auto ranks = static_cast<int>(AbstractMesh::parse(each.mesh).ranks());
    if (ranks > world_.size() || !each.prefill.empty()) continue;
    SCOPED_TRACE(each.mesh + " " + each.decode);
    on_first(world_, ranks, [&](const mpi::Communicator& part) {
      const std::string usual = bytes_of_run(part, each, {});
      EXPECT_EQ(bytes_of_run(part, each, DType::f64), usual);
      EXPECT_NE(bytes_of_run(part, each, DType::f32), usual) << "smaller caches round";
    });
  }
}

/// As a training step is scheduled: collectives in flight, bundles, collective matmuls, sweeps of small strips, and
/// products in many panels.
TEST_F(Generation, WithScheduledPrograms) {
  scheduling_ = {.fuse = ScheduleOptions::Fuse::always, .strip_bytes = 8, .panel = Flops(40)};
  expect_equal(small_config(), kCases, {7, 3, 1, 5}, 4);
  expect_equal(with_experts(), {{"X=2", "ep_rep=X"}, {"X=3", "ep=X"}, {"X=4", "tp_ep=X"}}, {4, 6, 2}, 3);
  for (const ActionKind kind : {ActionKind::run, ActionKind::sweep}) EXPECT_GT(actions_[kind], 0);
  for (const ActionKind kind : {ActionKind::start, ActionKind::wait, ActionKind::fuse}) {
    EXPECT_TRUE(actions_[kind] > 0 || world_.size() == 1 || world_.rank() > 1);
  }
}

/// The logits of all steps, in one row.
std::vector<double> all_logits(Generator& generator, const Prompts& prompts) {
  std::vector<double> all;
  const Tensor* logits = &generator.prefill(prompts);
  for (std::int32_t step = 0; step < static_cast<std::int32_t>(kNewTokens); ++step) {
    for (std::size_t b = 0; b < prompts.size(); ++b) {
      const std::vector<double> row = row_of(*logits, b);
      all.insert(all.end(), row.begin(), row.end());
    }
    logits = &generator.decode(std::vector<std::int32_t>(prompts.size(), step));
  }
  return all;
}

/// On one node sweeps, bundles and collectives in flight change no bit. The oracle has every step at its place.
TEST_F(Generation, AScheduleThatFusesNothingChangesNoBit) {
  const TransformerConfig config = small_config();
  const Prompts prompts = prompts_of({7, 3}, config.vocab);
  for (const Case& each : kCases) {
    const AbstractMesh mesh = AbstractMesh::parse(each.mesh);
    if (mesh.ranks() > world_.size() || !each.prefill.empty()) continue;
    SCOPED_TRACE(each.mesh + " " + each.decode);
    on_first(world_, static_cast<int>(mesh.ranks()), [&](const mpi::Communicator& part) {
      GenerationForm form{.sequences = 2,
                          .context = 16,
                          .longest = 7,
                          .dtype = DType::bf16,
                          .decode = parse_strategy(each.decode, mesh, RoleUse::generation)};
      const Mesh ranks(mesh, part);
      collectives::Engine engine(ranks);
      Generator apart(engine, GenerationPlan(config, form, mesh), fill_weights);
      const std::vector<double> expected = all_logits(apart, prompts);
      form.how = scheduled(mesh, {.fuse = ScheduleOptions::Fuse::never, .strip_bytes = 8});
      Generator generator(engine, GenerationPlan(config, form, mesh), fill_weights);
      EXPECT_EQ(all_logits(generator, prompts), expected);
    });
  }
}

/// Prefill with a state of its own, in its own layouts; then the caches are resharded.
const std::vector<Case> kOwn = {
    {"X=1", "dp=X", "", true},
    {"X=2", "tp_rep=X", "dp=X", true},
    {"X=2", "rep_s=X", "tp_seq=X", true},
    {"X=2", "dp=X", "fsdp=X", true},
    {"X=3", "rep_s=X", "cp_s=X", true},
    {"X=3", "rep_s=X", "tp_rep=X", true},
    {"X=3", "tp_rep=X", "rep_s=X", true},
    {"X=4", "rep_b=X", "cp_s=X", true},
    {"X=4", "tp_rep=X", "", true},
    {"Y=2,Z=2", "tp_rep=Y,rep_s=Z", "rep_s=Y,tp_rep=Z", true},
    {"Y=2,Z=2", "rep_s=Y,rep_s=Z", "tp_seq=Y,cp_s=Z", true},
    {"Y=2,Z=2", "tp_rep=Y,rep_b=Z", "rep_s=Y,cp_s=Z", true},
};

TEST_F(Generation, WithAStateOfPrefillsOwn) {
  expect_equal(small_config(), kOwn, {7, 3, 1, 5}, 3);
  expect_equal(small_config(), kOwn, {4}, 0);
  expect_equal(with_experts(), kOwn, {6, 2}, 4);
  expect_equal(small_config(), kOwn, {7, 3}, 0, {.dtype = DType::bf16, .tolerance = 0.1});
}

/// Without the order of decode in prefill, a place of decode does not hold the position that it says. Another order is
/// right if both have it.
TEST_F(Generation, BothStatesHaveOneOrderOfPlaces) {
  const TransformerConfig config = small_config();
  const Prompts prompts = prompts_of({9, 4}, config.vocab);
  const Continued expected = continued_by_loops(config, prompts);
  const AbstractMesh mesh({{"X", 3}});
  on_first(world_, 3, [&](const mpi::Communicator& part) {
    const GenerationForm form{.sequences = 2,
                              .context = 16,
                              .longest = 9,
                              .dtype = DType::f64,
                              .decode = parse_strategy("rep_s=X", mesh, RoleUse::generation),
                              .prefill = parse_strategy("dp=X", mesh, RoleUse::generation),
                              .own_prefill = true};
    const Mesh ranks(mesh, part);
    collectives::Engine engine(ranks);
    Generator generator(engine, GenerationPlan(config, form, mesh), fill_weights);
    const auto set_order = [](Executor& executor, const GenerationPhase& phase, const std::vector<Index>& sizes) {
      Tensor where(DType::i32, {16});
      const std::vector<std::int32_t> order = striped_places(16, sizes);
      std::copy(order.begin(), order.end(), where.view<std::int32_t>().begin());
      executor.set(phase.model.cached.where, where);
    };
    set_order(generator.first(), generator.plan().first(), {});
    EXPECT_GT(difference(generator, prompts, expected), 1e-3) << "prefill in order, decode striped";
    set_order(generator.decoder(), generator.plan().decode(), {});
    EXPECT_LE(difference(generator, prompts, expected), 1e-10) << "both in order";
  });
}

/// Decode of other numbers of sequences uses the parameters of the generator, and leaves its texts as they are.
TEST_F(Generation, TrialsOfOtherBatchesChangeNothing) {
  const TransformerConfig config = with_experts();
  const Prompts prompts = prompts_of({5, 2}, config.vocab);
  const Continued expected = continued_by_loops(config, prompts);
  for (const Case& each : kCases) {
    const AbstractMesh mesh = AbstractMesh::parse(each.mesh);
    if (mesh.ranks() > world_.size() || !each.prefill.empty()) continue;
    SCOPED_TRACE(each.mesh + " " + each.decode);
    on_first(world_, static_cast<int>(mesh.ranks()), [&](const mpi::Communicator& part) {
      GenerationForm form{.sequences = 2,
                          .context = 12,
                          .longest = 5,
                          .dtype = DType::f64,
                          .decode = parse_strategy(each.decode, mesh, RoleUse::generation)};
      const Mesh ranks(mesh, part);
      collectives::Engine engine(ranks);
      Generator generator(engine, GenerationPlan(config, form, mesh), fill_weights);
      for (const Index sequences : {1, 2, 7}) {
        form.sequences = sequences;
        const GenerationPhase phase = decode_phase(config, form, mesh, form.decode);
        generator.prefill(prompts);
        const std::unique_ptr<DecodeTrial> trial = DecodeTrial::make(generator, phase, 0.5);
        ASSERT_NE(trial, nullptr);
        trial->step();
        trial->step();
        EXPECT_LE(step_difference(generator.decode(tokens_of_step(prompts, expected, 0)), expected, 1), 1e-10);
        const TrialMemory more = trial_memory(generator.plan(), phase, ranks.rank());
        EXPECT_GE(more.own, cache_bytes(phase, ranks.rank()));
      }
    });
  }
}

/// The last place of a cache is used, and there is no place after it.
TEST_F(Generation, FillsTheContext) {
  const TransformerConfig config = small_config();
  const Prompts prompts = prompts_of({5, 2}, config.vocab);
  const Continued expected = continued_by_loops(config, prompts);
  for (const Case& each : kCases) {
    const AbstractMesh mesh = AbstractMesh::parse(each.mesh);
    if (mesh.ranks() > world_.size() || !each.prefill.empty()) continue;
    SCOPED_TRACE(each.mesh + " " + each.decode);
    on_first(world_, static_cast<int>(mesh.ranks()), [&](const mpi::Communicator& part) {
      const GenerationForm form{.sequences = 2,
                                .context = 5 + kNewTokens - 1,
                                .longest = 5,
                                .dtype = DType::f64,
                                .decode = parse_strategy(each.decode, mesh, RoleUse::generation)};
      const Mesh ranks(mesh, part);
      collectives::Engine engine(ranks);
      Generator generator(engine, GenerationPlan(config, form, mesh), fill_weights);
      EXPECT_LE(difference(generator, prompts, expected), 1e-10);
      EXPECT_EQ(generator.lengths(), (std::vector<Index>{5 + kNewTokens - 1, 2 + kNewTokens - 1}));
      EXPECT_THROW(generator.decode({1, -1}), Error) << "the first text is full";
      generator.decode({-1, 1});
      EXPECT_EQ(generator.lengths()[1], 2 + kNewTokens);
    });
  }
}

/// Positions go round the ranks, so the fullest rank has at most one place more than the emptiest, at every length.
TEST(StripedPlaces, AreBalancedAtEveryLength) {
  for (const Index places : {1, 5, 12, 37}) {
    for (const std::vector<Index>& sizes : std::vector<std::vector<Index>>{{}, {1}, {3}, {8}, {2, 2}, {3, 2, 2}}) {
      const std::vector<std::int32_t> where = striped_places(places, sizes);
      std::vector<bool> met(static_cast<std::size_t>(places), false);
      for (const std::int32_t position : where) met.at(static_cast<std::size_t>(position)) = true;
      EXPECT_EQ(std::count(met.begin(), met.end(), true), places);
      std::vector<std::pair<Axis, Index>> axes;
      for (std::size_t a = 0; a < sizes.size(); ++a) axes.emplace_back("A" + std::to_string(a), sizes[a]);
      const AbstractMesh mesh(axes);
      for (Index length = 1; length <= places; ++length) {
        Index least = places, most = 0;
        for (const Range& block : nested_blocks(places, mesh.axes(), mesh)) {
          const auto begin = where.begin() + block.begin, end = where.begin() + block.end;
          const Index held = std::count_if(begin, end, [&](std::int32_t position) { return position < length; });
          least = std::min(least, held);
          most = std::max(most, held);
        }
        EXPECT_LE(most - least, 1) << places << " places, length " << length;
      }
    }
  }
}

}  // namespace
}  // namespace shardline
