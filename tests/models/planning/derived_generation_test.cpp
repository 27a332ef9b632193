// What generation takes by its derived programs: collectives of a layer against a table that another implementation
// counted, reading and computing against the sizes of the model, scaling against a program with all layers.

#include "models/planning/derived_generation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/architecture/known_models.h"
#include "models/planning/generation_ways.h"
#include "program/price/estimate.h"
#include "roofline/machine/catalogue.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

constexpr double kBatch = 8;
constexpr double kWidth = 8192;  // D of LLaMA-3 70B
const roofline::Chip& kV5e = roofline::chip_named("v5e");

DerivedQuery llama70(Index sequences = 8) {
  return {.config = sizes_of_model("llama3-70b"), .sequences = sequences, .context = 8192};
}

Strategy roles(const std::string& strategy, const AbstractMesh& mesh) {
  return parse_strategy(strategy, mesh, RoleUse::generation);
}

LayerMoves layer_under(const DerivedQuery& query, const std::string& mesh, const std::string& strategy) {
  const AbstractMesh parsed = AbstractMesh::parse(mesh);
  return layer_of_decode(query, parsed, roles(strategy, parsed));
}

/// v5e chips, the mesh over its default torus axes.
roofline::Hardware v5e_of(const AbstractMesh& mesh) {
  return roofline::hardware_of(kV5e, mesh, laid_over(kV5e, mesh, {}).layout, DType::bf16);
}

DerivedDecode decode_on(const DerivedQuery& query, const std::string& mesh, const std::string& strategy) {
  const AbstractMesh parsed = AbstractMesh::parse(mesh);
  return derived_decode(query, parsed, roles(strategy, parsed), v5e_of(parsed));
}

struct CountedLayer {
  const char* mesh;
  const char* strategy;
  Index collectives;
  Index rounds;
  double kilobytes;
};

/// One layer of LLaMA-3 70B, B = 8, S = 8192, two bytes an element. The rows are from a simulation of these strategies
/// that shares no code with this one.
TEST(DerivedGeneration, ALayerMovesWhatASimulationCounted) {
  const CountedLayer rows[] = {
      {"Y=8", "tp_rep=Y", 2, 2, 458.8},
      {"Y=8", "tp=Y", 4, 4, 458.8},
      {"Y=8,Z=2", "tp_rep=Y,rep_b=Z", 4, 4, 499.7},
      {"Y=8,Z=8", "tp_rep=Y,rep_b=Z", 4, 4, 519.7},
      {"X=2,Y=8", "ws=X,tp_rep=Y", 11, 8, 333.9},
      {"X=8,Y=8", "ws=X,tp_rep=Y", 11, 8, 240.2},
      {"X=2,Y=8", "ws=X,tp=Y", 13, 10, 333.9},
      {"X=8", "dp=X", 0, 0, 0},
      {"X=8", "fsdp=X", 7, 1, 1497366.5},
  };
  for (const CountedLayer& row : rows) {
    const LayerMoves layer = layer_under(llama70(), row.mesh, row.strategy);
    EXPECT_EQ(layer.collectives, row.collectives) << row.strategy << " on " << row.mesh;
    EXPECT_EQ(layer.rounds, row.rounds) << row.strategy << " on " << row.mesh;
    // Norms add squares in f32, the simulation in two bytes: 128 bytes.
    EXPECT_NEAR(layer.sent.value, 1e3 * row.kilobytes, 200) << row.strategy << " on " << row.mesh;
  }
}

/// Sums of attention over places are f32 here and two bytes in the simulation (508.1 and 545.1 kB).
TEST(DerivedGeneration, SumsOfAttentionOverPlacesAreInF32) {
  for (const auto& [ranks, simulated] : {std::pair(2.0, 508.1e3), {8.0, 545.1e3}}) {
    const LayerMoves layer = layer_under(llama70(), fmt::format("Y=8,Z={}", ranks), "tp_rep=Y,rep_s=Z");
    EXPECT_EQ(layer.collectives, 6);
    EXPECT_EQ(layer.rounds, 5);
    const double heads_and_rows = kBatch * 8 * (128 + 1 + 2);  // weighted values and their sum; the largest twice
    EXPECT_NEAR(layer.sent.value, simulated + 2 * heads_and_rows * (ranks - 1) / ranks, 100) << ranks;
  }
}

/// A step has one token, so under tp_seq one rank has the whole stream: it sends it to seven others, and what it owes
/// to none. The simulation spreads the token evenly.
TEST(DerivedGeneration, OneTokenLiesOnOneRank) {
  const LayerMoves layer = layer_under(llama70(), "Y=8", "tp_seq=Y");
  EXPECT_EQ(layer.collectives, 4);
  EXPECT_EQ(layer.rounds, 4);
  EXPECT_NEAR(layer.sent.value, 2 * 7 * kBatch * kWidth * 2 + 2 * kBatch * kWidth * 2, 1);
}

/// Section 7.3.2: two AllReduces of B D elements; each sends them nearly twice.
TEST(DerivedGeneration, BytesGrowWithTheBatchAndTheElement) {
  for (const Index batch : {1, 32}) {
    DerivedQuery query = llama70(batch);
    const double elements = 2 * 2 * static_cast<double>(batch) * kWidth * 7 / 8;
    EXPECT_DOUBLE_EQ(layer_under(query, "Y=8", "tp_rep=Y").sent.value, 2 * elements);
    query.dtype = DType::f32;
    EXPECT_DOUBLE_EQ(layer_under(query, "Y=8", "tp_rep=Y").sent.value, 4 * elements);
  }
}

/// Queries are cast before they move to where the caches are: of 8 sequences, 8 heads and 128 elements a rank has half
/// and sends half of it. What attention makes is cast back before it moves.
TEST(DerivedGeneration, SmallerCachesMoveSmallerQueries) {
  DerivedQuery query = llama70();
  query.dtype = DType::f32;
  const Bytes usual = layer_under(query, "Y=8,Z=2", "tp_rep=Y,rep_b=Z").sent;
  query.cache_dtype = DType::bf16;
  const LayerMoves layer = layer_under(query, "Y=8,Z=2", "tp_rep=Y,rep_b=Z");
  EXPECT_EQ(layer.collectives, 4);
  EXPECT_DOUBLE_EQ(usual.value - layer.sent.value, 2 * kBatch * 8 * 128 / 2 / 2);
}

/// Chapter 8: batch 32 on a 4x2, weights and caches in int8. The step is that of the closed form, 17 ms; the
/// all_reduces come to it.
TEST(DerivedGeneration, WhatAllReducesAddToTheStepOfChapterEight) {
  DerivedQuery query = llama70(32);
  query.weight = query.cache = Bytes(1);
  const DerivedDecode decode = decode_on(query, "Y=8", "tp_rep=Y");
  const double norms = 161 * kWidth;
  const double table = 128256 * kWidth;  // looked up, not read
  const double products = 70553706496.0 - norms - table;
  EXPECT_NEAR(decode.step.parameters.value, (products / 8 + norms) / 8.1e11, 1e-9);
  EXPECT_NEAR(decode.step.caches.value, 32.0 * 8192 * 2 * 8 * 128 * 80 / 8 / 8.1e11, 1e-9);
  EXPECT_NEAR(decode.memory.value, (products + table) / 8 + norms + 32.0 * 8192 * 2 * 128 * 80, 1);
  EXPECT_NEAR(decode.step.flops.value, 2 * 32 * products / 8 / 1.97e14, 1e-4) << "norms and rotation are small";
  EXPECT_NEAR(decode.step.attention.value, 32.0 * 8192 * 4 * 64 * 128 * 80 / 8 / 1.97e14, 1e-5);
  // On lines of 4 and 2: three hops and one, each way. 2 B D elements go over a link of each, and 7 of 8 parts are
  // added: two are read, one is written. Two in each layer, and one after the embedding.
  const double wire = 2 * 32 * kWidth * 2 * 7 / 8 / (2 * 4.5e10);
  const double adding = 3 * 32 * kWidth * 2 * 7 / 8 / 8.1e11;
  EXPECT_NEAR(decode.all_reduces.value, 161 * (8e-6 + wire + adding), 1e-8);
  const double logits = decode.collectives.value - decode.all_reduces.value;
  EXPECT_GT(logits, 0);
  EXPECT_LT(logits, 3e-4);
  EXPECT_NEAR(decode.time().value, 17.4e-3 + 3.4e-3, 1e-4);
}

TEST(DerivedGeneration, StoredTypesChangeReadingAndNothingElse) {
  DerivedQuery query = llama70();
  const DerivedDecode bf16 = decode_on(query, "Y=8,Z=2", "tp_rep=Y,rep_b=Z");
  query.weight = Bytes(0.5);
  query.cache = Bytes(1);
  const DerivedDecode int4 = decode_on(query, "Y=8,Z=2", "tp_rep=Y,rep_b=Z");
  EXPECT_DOUBLE_EQ(int4.step.parameters.value, bf16.step.parameters.value / 4);
  EXPECT_DOUBLE_EQ(int4.step.caches.value, bf16.step.caches.value / 2);
  EXPECT_EQ(int4.flops(), bf16.flops());
  EXPECT_EQ(int4.collectives, bf16.collectives);
  EXPECT_EQ(int4.layer.sent, bf16.layer.sent);
}

/// Every rank multiplies with all weights: dp has them, fsdp gathers them.
TEST(DerivedGeneration, DataParallelRanksReadAllWeights) {
  const DerivedDecode dp = decode_on(llama70(), "X=8", "dp=X");
  const DerivedDecode fsdp = decode_on(llama70(), "X=8", "fsdp=X");
  const double read = 2 * (70553706496.0 - 128256 * kWidth);
  const double norms = 161 * kWidth;  // which every rank has whole
  EXPECT_NEAR(dp.step.parameters.value, read / 8.1e11, 1e-5);
  EXPECT_NEAR(fsdp.step.parameters.value, read / 8.1e11, 1e-4) << "its own part of the output projection";
  EXPECT_EQ(dp.all_reduces, Seconds(0));
  EXPECT_NEAR(dp.memory.value, 2 * 70553706496.0 + 8192.0 * 2 * 8 * 128 * 80 * 2, 1);
  EXPECT_NEAR(fsdp.memory.value, 2 * (70553706496.0 - norms) / 8 + 2 * norms + 8192.0 * 2 * 8 * 128 * 80 * 2, 1);
  const double gathering = read * 7 / 8 / 9e10;
  EXPECT_GT(fsdp.time().value, gathering);
  EXPECT_LT(fsdp.collectives.value, gathering) << "the next layer's weights arrive while one is read";
}

/// What a step reads in int8 or int4 hides less of its collectives than the program in bf16 does: no step is shorter
/// than all collectives of the program with all layers, one after another.
TEST(DerivedGeneration, SmallerStoredTypesHideLess) {
  const AbstractMesh mesh = AbstractMesh::parse("X=8");
  const Strategy split = roles("fsdp=X", mesh);
  const roofline::Hardware hardware = v5e_of(mesh);
  DerivedQuery query = llama70();
  query.config.layers = 5;
  query.prompt_tokens = 64;
  const auto moving = [&](const GenerationPhase& phase) {
    const RankProgram& program = phase.compiled->program();
    const std::vector<StepEstimate> steps = estimate(program, hardware);
    Seconds all;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (communicates(program.steps[i].kind)) all += steps[i].price.time;
    }
    return all.value;
  };
  const GenerationForm form{.sequences = 8, .context = 8192, .dtype = DType::bf16, .decode = split};
  const GenerationForm prompt{
      .sequences = 1, .context = 64, .longest = 64, .chunk = 64, .dtype = DType::bf16, .decode = split};
  const double of_step = moving(decode_phase(query.config, form, mesh, split));
  const double of_prompt = moving(first_phase(query.config, prompt, mesh, split));
  for (const double bytes : {1.0, 0.5}) {
    query.weight = query.cache = Bytes(bytes);
    const DerivedDecode decode = derived_decode(query, mesh, split, hardware);
    EXPECT_NEAR(decode.time().value, of_step, 1e-9) << bytes << ": all reading is hidden";
    EXPECT_NEAR(decode.collectives.value, of_step - decode.step.time().value, 1e-9) << bytes;
    EXPECT_GE(derived_prefill(query, mesh, split, split, hardware).time().value, of_prompt * (1 - 1e-9)) << bytes;
  }
}

/// The table of a tied model is looked up and multiplied, but it is there once.
TEST(DerivedGeneration, ATiedTableIsKeptOnce) {
  const DerivedQuery query{.config = sizes_of_model("gemma-7b"), .sequences = 2, .context = 64};
  const DerivedDecode dp = decode_on(query, "X=2", "dp=X");
  const double parameters = 28 * (3.0 * 3072 * 24576 + 4.0 * 3072 * 16 * 256 + 2 * 3072) + 3072 + 256000.0 * 3072;
  EXPECT_NEAR(dp.memory.value, 2 * parameters + 2 * 64 * 2 * 16 * 256 * 28, 1);
  EXPECT_NEAR(dp.step.parameters.value, 2 * parameters / 8.1e11, 1e-9) << "the whole table, as output projection";
}

/// A program of all five layers, scheduled and priced without scaling.
TEST(DerivedGeneration, AFewLayersStandForAll) {
  DerivedQuery query{.config = sizes_of_model("llama3-8b"), .sequences = 3, .context = 512, .prompt_tokens = 128};
  query.config.layers = 5;
  for (const char* strategy : {"tp_rep=X,rep_s=Y", "ws=X,tp_rep=Y", "ws=X,tp=Y", "fsdp=X,tp=Y"}) {
    const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=4");
    const Strategy split = roles(strategy, mesh);
    const roofline::Hardware hardware = v5e_of(mesh);
    const CompileOptions how{.scheduling = ScheduleOptions(), .prices = hardware, .predictions = hardware};
    const GenerationForm form{.sequences = 3, .context = 512, .dtype = DType::bf16, .decode = split, .how = how};
    const GenerationForm prompt{.sequences = 1,
                                .context = 128,
                                .longest = 128,
                                .chunk = 128,
                                .dtype = DType::bf16,
                                .decode = split,
                                .how = how};
    const DerivedDecode decode = derived_decode(query, mesh, split, hardware);
    const DerivedPrefill prefill = derived_prefill(query, mesh, split, split, hardware);
    const auto check = [&](const GenerationPhase& phase, Seconds collectives, Seconds flops) {
      Seconds moving = phase.compiled->time().total;  // without what is computed
      Flops computing;
      const RankProgram& program = phase.compiled->program();
      const std::vector<StepEstimate> steps = estimate(program, hardware);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!communicates(program.steps[i].kind)) moving = moving - steps[i].price.time;
        if (program.steps[i].kind == StepKind::compute) computing += steps[i].flops;
      }
      EXPECT_NEAR(collectives.value, moving.value, 1e-9 * moving.value) << strategy;
      EXPECT_NEAR(flops.value, computing.value / 1.97e14, 1e-9 * flops.value) << strategy;
    };
    check(decode_phase(query.config, form, mesh, split), decode.collectives, decode.flops());
    check(first_phase(query.config, prompt, mesh, split), prefill.collectives,
          prefill.work.products + prefill.work.attention);
  }
}

/// 2 N T products and every token with those before it; shares of the peak as in the closed form.
TEST(DerivedGeneration, APromptComputesWhatTheClosedFormDoes) {
  DerivedQuery query = llama70();
  query.prompt_tokens = 2048;
  query.utilisation = 0.5;
  const AbstractMesh mesh = AbstractMesh::parse("Y=8");
  const Strategy split = roles("tp_rep=Y", mesh);
  const DerivedPrefill prefill = derived_prefill(query, mesh, split, split, v5e_of(mesh));
  const GenerationModel model = generation_model(query.config, Bytes(2), Bytes(2));
  const PrefillTime closed =
      prefill_time(model, generation_chip(kV5e), {.chips = 8, .tokens = 2048, .utilisation = 0.5});
  // The closed form also counts a product with the embedding, and the output projection of every token.
  const double layers = 1 - 2 * 128256 * kWidth / 70553706496.0;
  EXPECT_NEAR(prefill.work.products / closed.products, layers, 5e-3);
  EXPECT_NEAR(prefill.work.attention / closed.attention, 1, 1e-2);
  EXPECT_EQ(prefill.layer.collectives, 2);
  EXPECT_DOUBLE_EQ(prefill.layer.sent.value, 2 * 2 * 2048 * kWidth * 2 * 7 / 8);
}

/// Three tokens choose 2 of 8 experts: 1 - (3 / 4)^3 of the weights of experts are read.
TEST(DerivedGeneration, ExpertsThatNobodyChoosesAreNotRead) {
  DerivedQuery query{.config = sizes_of_model("mixtral-8x7b"), .sequences = 3, .context = 64};
  const DerivedDecode few = decode_on(query, "Y=8", "tp_rep=Y");
  query.sequences = 3000;
  const DerivedDecode many = decode_on(query, "Y=8", "tp_rep=Y");
  const double experts = 32.0 * 8 * 3 * 4096 * 14336 * 2 / 8;
  EXPECT_NEAR((many.step.parameters - few.step.parameters).value, experts * 27 / 64 / 8.1e11, 1e-9);
}

TEST(DerivedGeneration, RefusesWhatNoProgramHas) {
  const AbstractMesh mesh = AbstractMesh::parse("Y=8");
  const DerivedQuery query{.config = sizes_of_model("deepseek-v3"), .sequences = 1, .context = 64};
  EXPECT_EQ(usage_message([&] { layer_of_decode(query, mesh, roles("tp_rep=Y", mesh)); }),
            "no program has latent attention, shared experts, layers without experts");
}

/// Exercise 7.7: the mesh of a study of 1D and 2D, both with caches by batch beside the heads.
TEST(DerivedGeneration, TwoAxesSendLessInTwiceTheRounds) {
  for (const Index ranks : {16, 32, 64}) {
    const LayerMoves one = least_sent(llama70(), {one_axis_ways(llama70().config, ranks).front()})->layer;
    const std::optional<SentByWay> two = least_sent(llama70(), two_axes_ways(llama70().config, ranks));
    ASSERT_TRUE(two);
    EXPECT_LT(two->layer.sent, one.sent) << ranks;
    EXPECT_GE(two->layer.rounds, 2 * one.rounds) << ranks;
  }
  const std::optional<SentByWay> sixteen = least_sent(llama70(), two_axes_ways(llama70().config, 16));
  EXPECT_EQ(sixteen->way.mesh.mesh.to_string(), "{X:2, Y:8}");
  EXPECT_EQ(to_string(sixteen->way.strategy), "ws=X,tp_rep=Y");
}

/// By elements, worked out by hand: on N = 4 the best 2D is 2 x 2, on N = 8 it is 2 x 4.
/// 1D: 4 B D (N - 1) / N. 2D: 4 B D / X (Y - 1) / Y, and over X of an Nth of the heads and of F: q, o, k, v, g, u, s.
TEST(DerivedGeneration, TwoAxesSendLessFromEightRanksOn) {
  EXPECT_EQ(least_ranks_for_two_axes(llama70(), 256), 8);
  EXPECT_EQ(least_ranks_for_two_axes(llama70(), 4), std::nullopt);
  const auto one = [](double n) { return 2 * 4 * kBatch * kWidth * (n - 1) / n; };
  const auto two = [](double x, double y) {
    const double widths = 2 * kWidth + 2 * 8 * 128 + 3 * 28672;
    return 2 * kBatch * (4 * kWidth / x * (y - 1) / y + widths / y * (x - 1) / x);
  };
  EXPECT_GT(two(2, 2), one(4));
  EXPECT_LT(two(2, 4), one(8));
  EXPECT_NEAR(layer_under(llama70(), "X=2,Y=4", "ws=X,tp_rep=Y").sent.value, two(2, 4), 200);
  EXPECT_NEAR(layer_under(llama70(), "X=2,Y=2", "ws=X,tp_rep=Y").sent.value, two(2, 2), 200);
}

std::vector<std::string> names_of(const std::vector<GenerationWay>& ways) {
  std::vector<std::string> names;
  for (const GenerationWay& way : ways) {
    const NamedWay named = named_way(way);
    names.push_back(named.mesh.mesh.to_string() + " " + to_string(named.strategy));
  }
  return names;
}

TEST(DerivedGeneration, WaysToSplitRanks) {
  using Names = std::vector<std::string>;
  const TransformerConfig llama = sizes_of_model("llama3-70b");
  EXPECT_EQ(names_of(one_axis_ways(llama, 1)), (Names{"{Y:1} tp_rep=Y"}));
  EXPECT_EQ(names_of(one_axis_ways(llama, 8)),
            (Names{"{Y:8} tp_rep=Y", "{Y:4, Z:2} tp_rep=Y,rep_b=Z", "{Y:4, Z:2} tp_rep=Y,rep_s=Z"}));
  EXPECT_EQ(names_of(one_axis_ways(llama, 48)), (Names{"{Y:8, Z:6} tp_rep=Y,rep_b=Z", "{Y:8, Z:6} tp_rep=Y,rep_s=Z"}));
  EXPECT_EQ(names_of(one_axis_ways(llama, 11)), (Names{"{Z:11} rep_b=Z", "{Z:11} rep_s=Z"}));
  EXPECT_EQ(names_of(one_axis_ways(sizes_of_model("mixtral-8x7b"), 4))[1], "{Y:4} ep_rep=Y");
  EXPECT_EQ(names_of(two_axes_ways(llama, 12)),
            (Names{"{X:2, Y:2, Z:3} ws=X,tp_rep=Y,rep_b=Z", "{X:2, Y:3, Z:2} ws=X,tp_rep=Y,rep_b=Z",
                   "{X:2, Y:6} ws=X,tp_rep=Y", "{X:3, Y:2, Z:2} ws=X,tp_rep=Y,rep_b=Z", "{X:3, Y:4} ws=X,tp_rep=Y",
                   "{X:4, Y:3} ws=X,tp_rep=Y", "{X:6, Y:2} ws=X,tp_rep=Y"}));
  EXPECT_TRUE(two_axes_ways(llama, 3).empty());
  EXPECT_TRUE(data_parallel_ways(1).empty());
  const GenerationWay two{{"tp_rep", 2}, {"rep_b", 3}};
  EXPECT_FALSE(named_way(two, {"A"}));
  EXPECT_EQ(to_string(named_way(two, {"A", "B"})->strategy), "tp_rep=A,rep_b=B");
}

/// The mesh lies over every share of the two torus axes of a v5e; the best step is the least of all.
TEST(DerivedGeneration, TheFastestOfSeveralMeshes) {
  const std::vector<NamedWay> ways = laid_ways(kV5e, {{"tp_rep", 8}, {"rep_b", 2}});
  ASSERT_EQ(ways.size(), 2U);
  EXPECT_EQ(ways[0].mesh.layout, (roofline::TorusLayout{{"Y", {8}}, {"Z", {2}}}));
  EXPECT_EQ(ways[1].mesh.layout, (roofline::TorusLayout{{"Y", {4, 4}}}));
  EXPECT_TRUE(laid_ways(kV5e, {{"dp", 512}}).empty());
  const HardwareOf hardware_of = [](const ChipMesh& mesh) {
    return roofline::hardware_of(kV5e, mesh.mesh, mesh.layout, DType::bf16);
  };
  DerivedQuery query = llama70();
  query.prompt_tokens = 8192;
  const std::optional<DerivedGeneration> best = fastest_generation(query, ways, hardware_of);
  ASSERT_TRUE(best);
  for (const NamedWay& way : ways) {
    const DerivedDecode each = derived_decode(query, way.mesh.mesh, way.strategy, hardware_of(way.mesh));
    EXPECT_LE(best->decode.time(), each.time());
  }
  EXPECT_FALSE(fastest_generation(query, {}, hardware_of));
}

}  // namespace
}  // namespace shardline
