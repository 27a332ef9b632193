#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/generation/generator.h"
#include "runtime/base/counter_rng.h"
#include "tests/models/generation/plain_transformer.h"
#include "tests/models/small_training.h"

/// Generation by small models in many layouts, beside a Transformer of plain loops. In one job of eight ranks, the
/// first ranks form each mesh in turn.
namespace shardline {

inline constexpr Index kNewTokens = 4;

inline TransformerConfig small_config() {
  return {.vocab = 11, .d_model = 6, .layers = 2, .heads = 6, .kv_heads = 2, .head_dim = 4, .d_ff = 10};
}

inline TransformerConfig with_experts() {
  TransformerConfig config = small_config();
  config.experts = {.count = 4, .chosen = 2};
  return config;
}

/// The same element of a parameter on every mesh.
inline double weight(const std::string& name, Index i) {
  const double normal = CounterRng(3, name).normal(i);
  return name[0] == 'w' ? 1 + 0.1 * normal : 0.4 * normal;
}

inline void fill_weights(State& state, const Model& model) {
  for (const ModelParameter& parameter : model.parameters) {
    const std::string& name = model.program.array(parameter.array).name;
    state.fill(name, [&](Index i) { return weight(name, i); });
  }
}

using Prompts = std::vector<std::vector<std::int32_t>>;

/// Prompts of these lengths.
inline Prompts prompts_of(const std::vector<Index>& lengths, Index vocabulary) {
  Prompts prompts;
  const CounterRng rng(4, "prompts");
  Index drawn = 0;
  for (const Index length : lengths) {
    auto& prompt = prompts.emplace_back();
    for (Index t = 0; t < length; ++t) prompt.push_back(static_cast<std::int32_t>(rng.below(drawn++, vocabulary)));
  }
  return prompts;
}

inline std::int32_t likeliest(const std::vector<double>& logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// Of each sequence: what follows it greedily, and the logits of every step.
struct Continued {
  Prompts texts;
  std::vector<std::vector<std::vector<double>>> logits;
};

inline Continued continued_by_loops(const TransformerConfig& config, const Prompts& prompts) {
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

inline std::vector<double> row_of(const Tensor& logits, std::size_t b) {
  const auto row = static_cast<Index>(b);
  const Tensor one = logits.rows({row, row + 1}).as(DType::f64);
  const View<const double> values = one.view<double>();
  return {values.begin(), values.end()};
}

/// The largest difference of the logits of a step, over their largest magnitude.
inline double step_difference(const Tensor& logits, const Continued& expected, std::size_t step) {
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
inline std::vector<std::int32_t> tokens_of_step(const Prompts& prompts, const Continued& expected, std::size_t step) {
  std::vector<std::int32_t> next;
  for (std::size_t b = 0; b < prompts.size(); ++b) next.push_back(expected.texts[b][prompts[b].size() + step]);
  return next;
}

/// That of all steps, along the expected texts.
inline double difference(Generator& generator, const Prompts& prompts, const Continued& expected) {
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
inline CompileOptions scheduled(const AbstractMesh& mesh, const ScheduleOptions& options) {
  roofline::Hardware prices{"test", FlopsPerSecond(1e10), BytesPerSecond(1e10), Seconds(1e-6), {}};
  for (const Axis& axis : mesh.axes()) prices.links[axis] = {Seconds(1e-6), BytesPerSecond(1e9)};
  return {.scheduling = options, .prices = prices};
}

struct Case {
  std::string mesh;
  std::string decode;
  std::string prefill = {};  ///< empty: as decode
  bool own_prefill = false;
};

/// A part of the ranks that runs one case.
struct CaseRun {
  const AbstractMesh& mesh;
  collectives::Engine& engine;
  GenerationForm form;  ///< in f64, with the roles of the case
};

/// Collective over `world`: each case that has enough ranks.
inline void for_each_case(const mpi::Communicator& world, const std::vector<Case>& cases,
                          const std::function<void(const CaseRun&)>& body) {
  for (const Case& each : cases) {
    const AbstractMesh mesh = AbstractMesh::parse(each.mesh);
    if (mesh.ranks() > world.size()) continue;
    SCOPED_TRACE(each.mesh + " " + each.decode + " " + each.prefill);
    on_first(world, static_cast<int>(mesh.ranks()), [&](const mpi::Communicator& part) {
      GenerationForm form{.dtype = DType::f64, .decode = parse_strategy(each.decode, mesh, RoleUse::generation)};
      if (!each.prefill.empty()) form.prefill = parse_strategy(each.prefill, mesh, RoleUse::generation);
      form.own_prefill = each.own_prefill;
      const Mesh ranks(mesh, part);
      collectives::Engine engine(ranks);
      body({mesh, engine, form});
    });
  }
}

inline const std::vector<Case> kCases = {
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

/// Those whose prefill has the roles of decode.
inline std::vector<Case> cases_of_one_strategy() {
  std::vector<Case> cases = kCases;
  std::erase_if(cases, [](const Case& each) { return !each.prefill.empty(); });
  return cases;
}

}  // namespace shardline
