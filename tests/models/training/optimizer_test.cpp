// AdamW over several steps against plain loops in f64. Warm-up, cosine, clipping, decay and betas are computed here
// once more. Only gradients come from the program: one step of plain descent on one rank moves each weight by its
// gradient.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>

#include "tests/models/training/job.h"

namespace shardline {
namespace {

constexpr Index kSteps = 5;
constexpr Index kWarmup = 2;
constexpr double kRate = 2e-2;
constexpr double kLeast = 5e-3;

using Values = std::map<std::string, std::vector<double>>;

struct Case {
  std::string name;
  AdamW adamw;
  bool tied = false;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"usual", AdamW{{.weight_decay = 0.1, .clip_norm = 1}}},
      {"clips always", AdamW{{.beta1 = 0.8, .beta2 = 0.7, .weight_decay = 0.3, .clip_norm = 0.05}}},
      {"clips and decays never", AdamW{{.beta1 = 0.5, .beta2 = 0.99}}},
      {"no means", AdamW{{.beta1 = 0, .beta2 = 0, .eps = 1e-2, .weight_decay = 0.2}}},
      {"decays all", AdamW{{.weight_decay = 0.4, .clip_norm = 0.5}, true}},
      {"tied", AdamW{{.weight_decay = 0.4, .clip_norm = 0.5}}, true},
  };
  return kCases;
}

RunOnMesh run_of(const Layout& layout, const Optimizer& optimizer) {
  RunOnMesh what = parity_run(layout, DType::f64, kSteps);
  what.run.options.optimizer = optimizer;
  what.run.options.learning_rate = kRate;
  what.run.options.least_share = kLeast / kRate;
  what.run.options.warmup = kWarmup;
  return what;
}

/// Whole arrays: parameters and moments.
Values values_of(const State& state) {
  Values all;
  for (const std::string& name : state.names()) {
    const Tensor whole = state.gather(name);
    const auto view = whole.view<double>();
    all[name].assign(view.begin(), view.end());
  }
  return all;
}

/// The gradients of step `number` at `weights`, on this rank alone. The step is so long that little is lost where the
/// old weight is taken from the new one.
Values gradients(const mpi::Communicator& alone, const Values& weights, bool tied, Index number) {
  constexpr double kLong = 1e6;
  RunOnMesh what = run_of({.tied = tied}, PlainDescent{});
  what.run.options.learning_rate = kLong;
  what.run.options.least_share = 1;
  what.run.options.warmup = 0;
  what.run.start = [&weights](State& state, const Model&) {
    for (const auto& [name, elements] : weights) {
      state.fill(name, [&e = elements](Index i) { return e[static_cast<std::size_t>(i)]; });
    }
  };
  Job job(alone, what);
  job.trainer().step(parity_data(), number);
  Values found = values_of(job.state());
  for (auto& [name, elements] : found) {
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = (weights.at(name)[i] - elements[i]) / kLong;
  }
  return found;
}

/// Norms have one dim, and their names begin with a small letter. E is the embedding.
bool decays(const std::string& name, const AdamW& adamw) {
  return adamw.decays_all || (std::isupper(name[0]) != 0 && name != "E");
}

double rate_of(Index step) {
  if (step <= kWarmup) return kRate * static_cast<double>(step) / kWarmup;
  const double part = static_cast<double>(step - kWarmup) / (kSteps - kWarmup);
  return kLeast + (kRate - kLeast) * std::pow(std::cos(part * std::numbers::pi / 2), 2);
}

/// One step in plain loops. `state` has the weights and both moments. Returns the norm of the gradient.
double plain_step(Values& state, const Values& gradients, const AdamW& o, Index step) {
  double squares = 0;
  for (const auto& [name, elements] : gradients) {
    for (const double g : elements) squares += g * g;
  }
  const double norm = std::sqrt(squares);
  for (const auto& [name, elements] : gradients) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const double g = o.clip_norm > 0 && norm > o.clip_norm ? elements[i] / norm * o.clip_norm : elements[i];
      double& w = state.at(name)[i];
      double& m = state.at("m." + name)[i];
      double& v = state.at("v." + name)[i];
      m += (1 - o.beta1) * (g - m);
      v += (1 - o.beta2) * (g * g - v);
      const double mean = m / (1 - std::pow(o.beta1, static_cast<double>(step)));
      const double square = v / (1 - std::pow(o.beta2, static_cast<double>(step)));
      const double decay = decays(name, o) ? o.weight_decay * w : 0;
      w -= rate_of(step) * (mean / (std::sqrt(square) + o.eps) + decay);
    }
  }
  return norm;
}

void expect_near(const Values& got, const Values& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, elements] : want) {
    double most = 0;
    double farthest = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      most = std::max(most, std::abs(elements[i]));
      farthest = std::max(farthest, std::abs(got.at(name)[i] - elements[i]));
    }
    EXPECT_LE(farthest, kParityTolerance * most) << name;
  }
}

class Optimizers : public OnRanks {};

class OptimizerCases : public Optimizers, public testing::WithParamInterface<std::size_t> {};

TEST_P(OptimizerCases, FollowPlainLoops) {
  const Case& tried = cases()[GetParam()];
  SCOPED_TRACE(tried.name);
  for (const char* role : {"dp", "zero1", "zero2", "fsdp", "tp"}) {
    SCOPED_TRACE(role);
    Job job(world_, run_of({.mesh = all_on_x_, .strategy = role, .tied = tried.tied}, tried.adamw));
    Values plain = values_of(job.state());
    Values weights = plain;
    std::erase_if(weights, [](const auto& each) { return each.first.find('.') != std::string::npos; });
    for (Index step = 1; step <= kSteps; ++step) {
      for (auto& [name, elements] : weights) elements = plain.at(name);
      const double norm = plain_step(plain, gradients(alone_, weights, tried.tied, step - 1), tried.adamw, step);
      EXPECT_NEAR(job.trainer().step(parity_data(), step - 1).grad_norm, norm, kParityTolerance * norm);
      expect_near(values_of(job.state()), plain);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerCases, testing::Range(std::size_t{0}, cases().size()));

/// Which weights decay: with gradients of any size, but a rate of almost nothing and a large decay, only they move.
TEST_F(Optimizers, OnlyMatricesThatMultiplyDecay) {
  for (const bool all : {false, true}) {
    for (const bool tied : {false, true}) {
      RunOnMesh what = run_of({.mesh = all_on_x_, .strategy = "fsdp", .tied = tied}, AdamW{{.weight_decay = 1e9}, all});
      what.run.options.learning_rate = 1e-10;
      what.run.options.warmup = 0;
      what.run.options.least_share = 1;
      Job job(world_, what);
      const Values before = values_of(job.state());
      job.trainer().step(parity_data(), 0);
      const Values after = values_of(job.state());
      for (const auto& [name, elements] : before) {
        if (name.find('.') != std::string::npos) continue;  // a moment
        const double kept = decays(name, AdamW{{}, all}) ? 0.9 : 1;
        EXPECT_NEAR(after.at(name)[0], kept * elements[0], 1e-9) << name;
      }
    }
  }
}

}  // namespace
}  // namespace shardline
