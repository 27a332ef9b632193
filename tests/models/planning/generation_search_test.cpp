// The search over strategies of generation: times and memory against programs that have all layers, and every pair of
// roles.

#include "models/planning/generation_search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace shardline {
namespace {

/// Links and memory are slow beside products, so that strategies differ. It has no caches: then two equal layers take
/// equal times.
roofline::Hardware slow_hardware() {
  roofline::Hardware hardware{"test", FlopsPerSecond(1e12), BytesPerSecond(1e9), Seconds(1e-6), {}};
  for (const char* axis : {"X", "Y", "Z"}) hardware.links[axis] = {Seconds(1e-6), BytesPerSecond(1e9)};
  return hardware;
}

TransformerConfig five_layers() {
  TransformerConfig config = tiny_config();
  config.layers = 5;
  return config;
}

/// Prefill has a first chunk of 3 tokens, and two later ones.
GenerationForm three_chunks() { return {.sequences = 4, .context = 16, .longest = 8, .chunk = 3, .decode = {}}; }

Seconds whole_time(const GenerationPhase& phase) {
  phase.compiled->predict_by(slow_hardware());
  return phase.compiled->time().total;
}

Bytes whole_memory(const GenerationPhase& phase) { return phase.compiled->liveness().peak(0); }

void expect_same(const PricedPhase& priced, Seconds time, Bytes memory) {
  EXPECT_NEAR(priced.time / time, 1, 1e-9) << to_string(priced.strategy);
  EXPECT_NEAR(priced.memory / memory, 1, 1e-9) << to_string(priced.strategy);
}

TEST(GenerationSearch, PricesOnTwoAxesAreThoseOfProgramsWithAllLayers) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=2");
  GenerationForm form = three_chunks();
  const PricedGeneration priced = price_generation(five_layers(), form, mesh, slow_hardware());
  const auto sorted = [](const std::vector<PricedPhase>& phases) {
    return std::is_sorted(phases.begin(), phases.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  };
  EXPECT_TRUE(sorted(priced.decode));
  EXPECT_TRUE(sorted(priced.prefill));
  for (std::size_t i = 0; i < priced.decode.size(); i += 20) {
    const GenerationPhase whole = decode_phase(five_layers(), form, mesh, priced.decode[i].strategy);
    expect_same(priced.decode[i], whole_time(whole), whole_memory(whole));
  }
  form.decode = priced.decode.front().strategy;
  for (std::size_t i = 0; i < priced.prefill.size(); i += 40) {
    const GenerationPhase first = first_phase(five_layers(), form, mesh, priced.prefill[i].strategy);
    const GenerationPhase later = later_phase(five_layers(), form, mesh, priced.prefill[i].strategy);
    expect_same(priced.prefill[i], whole_time(first) + 2 * whole_time(later),
                std::max(whole_memory(first), whole_memory(later)));
  }
}

/// The search prices the programs that would run: collectives beside computing, as they are scheduled.
TEST(GenerationSearch, PricesOfScheduledProgramsAreThoseOfTheirSchedules) {
  const AbstractMesh mesh = AbstractMesh::parse("X=4");
  GenerationForm form = three_chunks();
  const PricedGeneration apart = price_generation(five_layers(), form, mesh, slow_hardware(), {.prefill = false});
  form.how = {.scheduling = ScheduleOptions(), .prices = slow_hardware()};
  const PricedGeneration beside = price_generation(five_layers(), form, mesh, slow_hardware(), {.prefill = false});
  bool hides = false;
  for (const PricedPhase& each : beside.decode) {
    const GenerationPhase whole = decode_phase(five_layers(), form, mesh, each.strategy);
    EXPECT_NEAR(each.time / whole_time(whole), 1, 1e-3) << to_string(each.strategy);
    for (const PricedPhase& other : apart.decode) {
      if (to_string(other.strategy) != to_string(each.strategy)) continue;
      EXPECT_LE(each.time.value, other.time.value * (1 + 1e-12)) << to_string(each.strategy);
      hides = hides || each.time < 0.9 * other.time;
    }
  }
  EXPECT_TRUE(hides);
}

/// Axis Y changes nothing but the names of strategies.
TEST(GenerationSearch, AnAxisOfOneRankHasOneRole) {
  const auto searched = [](const std::string& mesh) {
    return price_generation(tiny_config(), three_chunks(), AbstractMesh::parse(mesh), slow_hardware(),
                            {.prefill = false});
  };
  const PricedGeneration three = searched("X=2,Y=1,Z=2");
  const PricedGeneration two = searched("X=2,Z=2");
  EXPECT_TRUE(three.prefill.empty());
  ASSERT_EQ(three.decode.size(), two.decode.size());
  for (std::size_t i = 0; i < two.decode.size(); ++i) {
    Strategy with_y = two.decode[i].strategy;
    with_y.insert(with_y.begin() + 1, {"Y", default_role()});
    EXPECT_EQ(to_string(three.decode[i].strategy), to_string(with_y));
    EXPECT_EQ(three.decode[i].time, two.decode[i].time);
  }
}

TEST(GenerationSearch, LeavesOutWhatDoesNotFit) {
  const AbstractMesh mesh = AbstractMesh::parse("X=4");
  const auto searched = [&](std::optional<Bytes> memory) {
    return price_generation(five_layers(), three_chunks(), mesh, slow_hardware(),
                            {.memory_per_rank = memory, .prefill = false})
        .decode;
  };
  const auto has = [](const std::vector<PricedPhase>& phases, const std::string& name) {
    return std::any_of(phases.begin(), phases.end(),
                       [&](const auto& each) { return to_string(each.strategy) == name; });
  };
  const auto memory_of = [&](const std::string& strategy) {
    return whole_memory(
        decode_phase(five_layers(), three_chunks(), mesh, parse_strategy(strategy, mesh, RoleUse::generation)));
  };
  const std::vector<PricedPhase> all = searched({});
  ASSERT_GT(memory_of("dp=X"), 2 * memory_of("tp_rep=X"));
  EXPECT_TRUE(has(all, "dp=X"));
  EXPECT_TRUE(has(searched(memory_of("dp=X")), "dp=X"));
  const std::vector<PricedPhase> fitting = searched(memory_of("tp_rep=X"));
  EXPECT_TRUE(has(fitting, "tp_rep=X"));
  EXPECT_FALSE(has(fitting, "dp=X"));
  EXPECT_LT(fitting.size(), all.size());
  EXPECT_EQ(searched(Bytes(1)).size(), all.size());  // none fits
}

/// Each program is partitioned, checked, and checked to write caches in place.
TEST(GenerationSearch, EveryPairOfRolesHasPrograms) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=2");
  TransformerConfig dense = tiny_config();
  dense.layers = 1;
  TransformerConfig experts = dense;
  experts.experts = {.count = 4, .chosen = 2};
  for (const TransformerConfig& config : {dense, experts}) {
    for (const AxisRole& x : roles_for_use(RoleUse::generation)) {
      for (const AxisRole& y : roles_for_use(RoleUse::generation)) {
        GenerationForm form = three_chunks();
        form.decode = {{"X", x}, {"Y", y}};
        SCOPED_TRACE(fmt::format("{}, {} experts", to_string(form.decode), config.experts.count));
        EXPECT_NO_THROW(decode_phase(config, form, mesh, form.decode));
        EXPECT_NO_THROW(first_phase(config, form, mesh, form.decode));
        EXPECT_NO_THROW(later_phase(config, form, mesh, form.decode));
      }
    }
  }
}

}  // namespace
}  // namespace shardline
