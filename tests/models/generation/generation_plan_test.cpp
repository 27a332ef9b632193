// What a plan of generation takes, refuses and prints. The logits are tested in generator_test.

#include "models/generation/generation_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "models/generation/decode_trial.h"
#include "models/planning/generation_search.h"
#include "models/planning/phase_bound.h"
#include "program/ir/print.h"
#include "program/ops/cache_attention.h"
#include "program/ops/write_at.h"
#include "program/partition/partition.h"
#include "program/plan/in_place.h"
#include "roofline/machine/catalogue.h"
#include "runtime/base/check.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

const AbstractMesh kMesh = AbstractMesh::parse("X=2");

GenerationForm form_of(const std::string& strategy, const AbstractMesh& mesh = kMesh) {
  return {.sequences = 3,
          .context = 32,
          .longest = 8,
          .dtype = DType::f32,
          .decode = parse_strategy(strategy, mesh, RoleUse::generation)};
}

/// Weights and caches are sharded by half. Loading makes a block of one beside them, and copies a part of it. The rest
/// is small.
TEST(GenerationPlan, MemoryIsThatOfItsPartAndABlockOfAParameter) {
  const TransformerConfig config = tiny_config();
  const GenerationPlan made(config, form_of("tp_rep=X"), kMesh);
  double whole = 0, largest = 0;
  for (const ModelParameter& parameter : made.decode().model.parameters) {
    const auto elements = static_cast<double>(element_count(made.decode().model.program.array(parameter.array).shape));
    whole += elements;
    largest = std::max(largest, elements);
  }
  const auto places = static_cast<double>(3 * 32 * 2 * config.layers * config.kv_heads * config.head_dim);
  for (const Index rank : {0, 1}) {
    EXPECT_EQ(cache_bytes(made.decode(), rank), Bytes(4 * places / 2));
    const double least = 4 * (whole + places) / 2 + (2 * 4 + 3 * 8) * largest / 2;
    EXPECT_GT(made.memory(rank), Bytes(least));
    EXPECT_LT(made.memory(rank), Bytes(1.1 * least));
  }
}

/// Caches of half the bytes take half the memory, and the programs say where they cast.
TEST(GenerationPlan, CachesMayHaveASmallerType) {
  GenerationForm form = form_of("tp_rep=X");
  const GenerationPlan usual(tiny_config(), form, kMesh);
  form.cache_dtype = DType::bf16;
  const GenerationPlan made(tiny_config(), form, kMesh);
  const Bytes caches = cache_bytes(made.decode(), 0);
  EXPECT_EQ(caches * 2, cache_bytes(usual.decode(), 0));
  EXPECT_LT(made.memory(0), usual.memory(0) - caches * 0.9);
  const auto casts = [](const GenerationPhase& phase) {
    const std::vector<Operation>& all = phase.model.program.operations;
    return std::count_if(all.begin(), all.end(), [](const Operation& op) { return op.kind == "cast"; });
  };
  const Index layers = tiny_config().layers;
  EXPECT_EQ(casts(made.decode()) - casts(usual.decode()), 4 * layers) << "q, k, v and o of each layer";
  EXPECT_EQ(casts(made.first()) - casts(usual.first()), 2 * layers) << "attention reads the keys at hand";
  for (const ArrayId cache : made.decode().model.cached.caches) {
    EXPECT_EQ(made.decode().model.program.array(cache).dtype, DType::bf16);
  }
}

/// Parameters that fsdp gathers lie in shared memory, and nowhere else.
TEST(GenerationPlan, MemoryCountsWhatIsCommunicatedOnce) {
  const TransformerConfig config = tiny_config();
  const GenerationPlan made(config, form_of("fsdp=X"), kMesh);
  double whole = 0;
  for (const ModelParameter& parameter : made.decode().model.parameters) {
    whole += 4 * static_cast<double>(element_count(made.decode().model.program.array(parameter.array).shape));
  }
  EXPECT_GT(made.arena(), Bytes(whole / 2));
  EXPECT_LT(made.memory(0), Bytes(0.9 * whole)) << "gathered copies of a few parameters at a time";
}

TEST(GenerationPlan, RefusesRolesOfTrainingAndPromptsThatDoNotFit) {
  EXPECT_EQ(usage_message([] { form_of("pp=X"); }),
            "role \"pp\" is not for generation; its roles are dp, zero1, zero2, fsdp, tp, tp_seq, tp_g, cp, cp_fsdp, "
            "cp_heads, ep, ep_fsdp, tp_ep, tp_rep, ep_rep, rep_b, rep_s, ws, cp_s");
  EXPECT_EQ(usage_message([] { parse_strategy("tp_rep=X", kMesh); }),
            "role \"tp_rep\" is not for training; its roles are dp, zero1, zero2, fsdp, tp, tp_seq, tp_g, cp, cp_fsdp, "
            "cp_heads, ep, ep_fsdp, tp_ep, pp");
  GenerationForm form = form_of("tp_rep=X");
  form.longest = 32;
  GenerationPlan(tiny_config(), form, kMesh);  // for the logits after the prompt alone
  form.longest = 33;
  EXPECT_EQ(usage_message([&] { GenerationPlan(tiny_config(), form, kMesh); }),
            "the longest prompt has 33 tokens, and a context of 32 has room for 1 to 32");
}

/// Collectives of one layer of a phase, as lines of the printed program.
std::vector<std::string> collectives(const GenerationPhase& phase) {
  const RankProgram& program = phase.compiled->program();
  std::vector<std::string> lines;
  for (const Step& step : program.steps) {
    if (step.region.layer == 2 && communicates(step.kind)) lines.push_back(to_string(program, step));
  }
  return lines;
}

/// Those of decode.
std::vector<std::string> collectives(const std::string& strategy, const std::string& mesh_text) {
  const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
  return collectives(GenerationPlan(tiny_config(), form_of(strategy, mesh), mesh).decode());
}

using Lines = std::vector<std::string>;

/// The table of the book's section 7.3: what follows from the rows, layer by layer.
TEST(GenerationPlan, CollectivesOfALayerFollowFromTheRows) {
  EXPECT_EQ(collectives("tp_rep=X", "X=2"),
            (Lines{"h2[B, T, D] = AllReduce_X(h2[B, T, D]{U_X})", "x2[B, T, D] = AllReduce_X(x2[B, T, D]{U_X})"}));
  EXPECT_EQ(collectives("dp=X", "X=2"), Lines{});
  EXPECT_EQ(collectives("tp=X", "X=2"),
            (Lines{"x1[B, T, D] = AllGather_X(x1[B, T, D_X])", "a2[B, T, D_X] = ReduceScatter_X(a2[B, T, D]{U_X})",
                   "h2[B, T, D] = AllGather_X(h2[B, T, D_X])", "d2[B, T, D_X] = ReduceScatter_X(d2[B, T, D]{U_X})"}));
  EXPECT_EQ(collectives("rep_b=X", "X=2"),
            (Lines{"qr2[B_X, T, K, G, H] = AllToAll_X(qr2[B, T, K, G_X, H])",
                   "o2[B, T, K, G_X, H] = AllToAll_X(o2[B_X, T, K, G, H])",
                   "h2[B, T, D] = AllReduce_X(h2[B, T, D]{U_X})", "x2[B, T, D] = AllReduce_X(x2[B, T, D]{U_X})"}));
  EXPECT_EQ(collectives("rep_s=X", "X=2"),
            (Lines{"qr2[B, T, K, G, H] = AllGather_X(qr2[B, T, K, G_X, H])",
                   "o2.max[B, T, K, G] = AllReduceMax_X(o2.max[B, T, K, G]{Max_X})",
                   "o2.weighted[B, T, K, G_X, H] = ReduceScatter_X(o2.weighted[B, T, K, G, H]{U_X})",
                   "o2.sum[B, T, K, G_X] = ReduceScatter_X(o2.sum[B, T, K, G]{U_X})",
                   "h2[B, T, D] = AllReduce_X(h2[B, T, D]{U_X})", "x2[B, T, D] = AllReduce_X(x2[B, T, D]{U_X})"}));
}

/// Under tp every norm of decode reads the whole stream, which is gathered before it: 4 collectives a layer. In prefill
/// the ranks share out the norms, and their sums are reduced: 6. The weights of norms lie whole, and nothing gathers
/// them.
TEST(GenerationPlan, NormsOfDecodeSendNothingUnderTp) {
  for (const char* mesh_text : {"X=2", "X=4"}) {
    const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
    const GenerationPlan plan(tiny_config(), form_of("tp=X", mesh), mesh);
    EXPECT_EQ(collectives(plan.decode()).size(), 4U) << mesh_text;
    EXPECT_EQ(collectives(plan.first()).size(), 6U) << mesh_text;
    for (const GenerationPhase* phase : {&plan.first(), &plan.decode()}) {
      const RankProgram& program = phase->compiled->program();
      for (const ModelParameter& parameter : phase->model.parameters) {
        const Sharding& sharding = program.version(program.inputs.at(parameter.array)).sharding;
        const bool norm = sharding.dims.size() == 1;
        EXPECT_EQ(sharding.dims == Sharding::replicated(sharding.dims.size()).dims, norm);
      }
      for (const Step& step : program.steps) {
        EXPECT_FALSE(communicates(step.kind) && program.array_of(step.operands[0]).role == Role::parameter);
      }
    }
  }
}

/// Links of a network, and steps that take as long as reading what they read.
roofline::Hardware network(const AbstractMesh& mesh) {
  roofline::Hardware hardware{"test", FlopsPerSecond(1e15), BytesPerSecond(1e9), Seconds(0), {}};
  for (const Axis& axis : mesh.axes()) hardware.links[axis] = {Seconds(0), BytesPerSecond(1e9)};
  return hardware;
}

/// Under fsdp the next layer's weights arrive while this one is computed; caches are still written in place.
TEST(GenerationPlan, IsScheduledByPrices) {
  const auto decode_of = [](const CompileOptions& how) {
    GenerationForm form = form_of("fsdp=X");
    form.how = how;
    GenerationPlan plan(tiny_config(), form, kMesh);
    for (const Compiled* program : plan.programs()) check_in_place(*program);
    plan.predict_by(network(kMesh));
    return plan.decode().compiled;
  };
  const auto apart = decode_of({});
  const auto beside = decode_of({.scheduling = ScheduleOptions(), .prices = network(kMesh)});
  EXPECT_EQ(apart->schedule().actions, in_order(apart->program()).actions);
  EXPECT_LT(beside->time().total, 0.8 * apart->time().total);
  EXPECT_GT(beside->liveness().peak(0), apart->liveness().peak(0)) << "the weights of two layers";
}

/// The reshard between two states, as lines of the printed program.
std::vector<std::string> reshard_lines(const std::string& decode, const std::string& prefill) {
  GenerationForm form = form_of(decode);
  form.prefill = parse_strategy(prefill, kMesh, RoleUse::generation);
  form.own_prefill = true;
  const GenerationPlan plan(tiny_config(), form, kMesh);
  const RankProgram& program = plan.reshard()->compiled->program();
  Lines lines;
  for (const Step& step : program.steps) lines.push_back(to_string(program, step));
  return lines;
}

TEST(GenerationPlan, ReshardsCachesBetweenTwoStates) {
  EXPECT_EQ(reshard_lines("tp_rep=X", "dp=X"), (Lines{"Kc[B, S, K_X, H] = AllToAll_X(Kc[B_X, S, K, H])",
                                                      "Vc[B, S, K_X, H] = AllToAll_X(Vc[B_X, S, K, H])"}));
  EXPECT_EQ(reshard_lines("rep_s=X", "rep_s=X"), Lines{});
}

/// Half of the places of a rank go to the other one, in all layers. Parameters are there twice, and caches too.
TEST(GenerationPlan, CountsTheReshardAndBothStates) {
  const TransformerConfig config = tiny_config();
  GenerationForm form = form_of("tp_rep=X");
  form.sequences = 4;
  const GenerationPlan shared(config, form, kMesh);
  form.prefill = parse_strategy("dp=X", kMesh, RoleUse::generation);
  form.own_prefill = true;
  const GenerationPlan own(config, form, kMesh);
  const Bytes caches = cache_bytes(own.decode(), 0);
  EXPECT_EQ(own.reshard()->sent(), caches / 2);
  Bytes whole(0);
  for (const ModelParameter& parameter : own.decode().model.parameters) {
    whole += 4.0 * Bytes(static_cast<double>(element_count(own.decode().model.program.array(parameter.array).shape)));
  }
  EXPECT_GT(own.memory(0) + own.arena(), shared.memory(0) + shared.arena() + whole + caches);
  EXPECT_LT(own.memory(0) + own.arena(), shared.memory(0) + shared.arena() + (whole + caches) * 1.5);
}

/// Each state is filled from the file. The larger block of a parameter counts, whichever phase has it.
TEST(GenerationPlan, LoadingCountsTheBlocksOfBothStates) {
  const TransformerConfig config = tiny_config();
  const Strategy split = parse_strategy("tp_rep=X", kMesh, RoleUse::generation);
  const Strategy whole = parse_strategy("dp=X", kMesh, RoleUse::generation);
  for (const auto& [decode, prefill] : {std::pair(split, whole), {whole, split}, {split, split}}) {
    GenerationForm form = form_of("tp_rep=X");
    form.sequences = 4;
    form.decode = decode;
    form.prefill = prefill;
    form.own_prefill = true;
    const GenerationPlan made(config, form, kMesh);
    double all = 0, largest = 0;
    for (const ModelParameter& parameter : made.decode().model.parameters) {
      const Shape shape = made.decode().model.program.array(parameter.array).shape;
      all += static_cast<double>(element_count(shape));
      largest = std::max(largest, static_cast<double>(element_count(shape)));
    }
    const bool both_split = decode == split && prefill == split;
    const double caches = (cache_bytes(made.decode(), 0) + cache_bytes(made.first(), 0)).value;
    // As above: a block, its rows and a part of it.
    const double least = 4 * all * (both_split ? 1 : 1.5) + caches + (2 * 4 + 3 * 8) * largest / (both_split ? 2 : 1);
    EXPECT_GT(made.memory(0), Bytes(least)) << to_string(decode) << ", " << to_string(prefill);
    EXPECT_LT(made.memory(0), Bytes(1.1 * least)) << to_string(decode) << ", " << to_string(prefill);
  }
}

/// The logits are there twice: the program's and those that the trial keeps. With a large vocabulary the rest is small.
TEST(GenerationPlan, TrialsCountCachesAndLogits) {
  TransformerConfig config = tiny_config();
  config.vocab = 50000;
  GenerationForm form = form_of("tp_rep=X");
  form.decode = {};
  const GenerationPlan made(config, form, AbstractMesh());
  for (const Index sequences : {1, 7}) {
    form.sequences = sequences;
    const GenerationPhase phase = decode_phase(config, form, AbstractMesh(), form.decode);
    const TrialMemory more = trial_memory(made, phase, 0);
    const double logits = 4.0 * 50000 * static_cast<double>(sequences);
    EXPECT_GT(more.own, cache_bytes(phase, 0) + Bytes(2 * logits)) << sequences;
    EXPECT_LT(more.own, cache_bytes(phase, 0) + Bytes(2.1 * logits)) << sequences;
    EXPECT_EQ(more.shared, Bytes(0)) << sequences << ": one rank";
  }
}

/// Two AllReduces of the stream go through shared memory, where fewer sequences have the room of the generator.
TEST(GenerationPlan, TrialsOfMoreSequencesTakeSharedMemory) {
  const TransformerConfig config = tiny_config();
  GenerationForm form = form_of("tp_rep=X");
  form.longest = 1;
  const GenerationPlan made(config, form, kMesh);
  const auto shared = [&](Index sequences) {
    form.sequences = sequences;
    return trial_memory(made, decode_phase(config, form, kMesh, form.decode), 0).shared;
  };
  EXPECT_EQ(shared(2), Bytes(0));
  EXPECT_GE(shared(64), Bytes(4.0 * 64 * static_cast<double>(config.d_model)));
}

/// A small program with a cache that attention reads; `late`: it reads the cache from before the write.
/// `rests`: the axes that split the places of what is written.
RankProgram program_with_cache(bool late, const Axes& rests) {
  Program p;
  p.sizes = {{"B", 2}, {"T", 1}, {"S", 8}, {"K", 2}, {"G", 1}, {"H", 4}};
  const ArrayId q = p.add_input("q", {"B", "T", "K", "G", "H"}, Role::activation);
  const ArrayId k = p.add_input("k", {"B", "T", "K", "H"}, Role::activation);
  const ArrayId cache = p.add_input("Kc", {"B", "S", "K", "H"}, Role::cache);
  const ArrayId at = p.add_input("at", {"B", "T"}, Role::positions);
  const ArrayId where = p.add_input("where", {"S"}, Role::positions);
  const ArrayId written = write_at(p, "Kc'", cache, k, at, where);
  const ArrayId read = late ? cache : written;
  p.outputs = {cache_attention(p, "o", q, read, read, at, where, {})};
  Declaration declaration;
  for (const ArrayId input : p.inputs) {
    declaration.layouts[input] = Sharding::replicated(p.array(input).dims.size());
  }
  declaration.layouts[cache].dims = {{}, {"X"}, {}, {}};
  declaration.layouts[written] = {.dims = {{}, rests, {}, {}}, .unreduced = {}};
  return partition(p, kMesh, declaration);
}

std::string fault_of(RankProgram program) {
  const auto compiled = compile(std::move(program), {});
  try {
    check_in_place(*compiled);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CheckInPlace, RefusesWhatCannotBeInPlace) {
  EXPECT_NE(
      fault_of(program_with_cache(true, {"X"})).find("Kc must be written in place, but it is read after the write"),
      std::string::npos);
  EXPECT_EQ(fault_of(program_with_cache(false, {"X"})), "");
  const std::string moved = fault_of(program_with_cache(false, {}));
  EXPECT_NE(moved.find("Kc must be written in place, but it is converted before the write or after it"),
            std::string::npos)
      << moved;
}

/// Reading weights and caches once at the bandwidth of memory, by hand.
TEST(PhaseBound, ReadsEachParameterAndEachSeenPlaceOnce) {
  const TransformerConfig config = tiny_config();
  const GenerationPlan plan(config, form_of("tp_rep=X"), kMesh);
  roofline::Hardware hardware{"test", FlopsPerSecond(1e12), BytesPerSecond(1e9), Seconds(1e-6), {}};
  hardware.links["X"] = {Seconds(1e-6), BytesPerSecond(1e9)};
  double bytes = cache_bytes(plan.decode(), 0).value / 4;
  for (const ModelParameter& parameter : plan.decode().model.parameters) {
    const Array& array = plan.decode().model.program.array(parameter.array);
    const bool table = array.name == "E" && !config.tied;
    const double ranks = array.dims.size() == 1 ? 1 : 2;
    if (!table) bytes += 4 * static_cast<double>(element_count(array.shape)) / ranks;
  }
  const PhaseBound bound = bound_of(plan.decode(), 0.25, hardware);
  EXPECT_NEAR(bound.memory.value, bytes / 1e9, 1e-12);
  EXPECT_EQ(bound.limiter(), roofline::Limiter::memory);
}

/// On links as slow as memory every strategy that gathers weights in each step loses.
TEST(PriceGeneration, PicksDecodeFirstAndPrefillBesideIt) {
  TransformerConfig config = tiny_config();
  config.d_model = 1024;
  config.d_ff = 4096;
  config.heads = 8;
  config.kv_heads = 4;
  config.head_dim = 128;
  const AbstractMesh mesh = AbstractMesh::parse("X=4");
  const roofline::Hardware hardware = roofline::hardware_named("v5e", mesh, DType::bf16);
  GenerationForm form = form_of("tp_rep=X", mesh);
  form.dtype = DType::bf16;
  const PricedGeneration priced = price_generation(config, form, mesh, hardware);
  const auto time_of = [&](const std::string& name) {
    for (const PricedPhase& each : priced.decode) {
      if (to_string(each.strategy) == name) return each.time;
    }
    throw Error("no " + name);
  };
  // The same bytes in the same rounds as under tp_rep, which adds the residual on every rank.
  EXPECT_EQ(to_string(priced.decode.front().strategy), "tp=X");
  EXPECT_NEAR(time_of("tp_rep=X") / time_of("tp=X"), 1, 1e-2);
  EXPECT_GT(time_of("fsdp=X"), time_of("tp_rep=X") * 2);
  EXPECT_GT(time_of("dp=X"), time_of("tp_rep=X") * 1.5);
  EXPECT_FALSE(priced.prefill.empty());
  for (std::size_t i = 1; i < priced.prefill.size(); ++i) {
    EXPECT_FALSE(priced.prefill[i].time < priced.prefill[i - 1].time);
  }
}

}  // namespace
}  // namespace shardline
