// The book's MLP trains on every mesh as plain loops in f64 say.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "models/data/made_data.h"
#include "tests/models/training/job.h"

namespace shardline {
namespace {

constexpr Index kRows = 12, kModel = 5, kInner = 7, kSteps = 4;
constexpr double kRate = 0.1;
constexpr double kRounding = 0x1p-8;  // of an element stored in bf16, relative

using Matrix = std::vector<std::vector<double>>;

Matrix zeros(Index rows, Index columns) {
  return Matrix(static_cast<std::size_t>(rows), std::vector<double>(static_cast<std::size_t>(columns)));
}

/// The first weights: any numbers of either sign.
double first_weight(Index i) { return 0.4 * std::sin(1.7 * static_cast<double>(i) + 0.3); }

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c = zeros(static_cast<Index>(a.size()), static_cast<Index>(b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b[0].size(); ++j) {
      for (std::size_t k = 0; k < b.size(); ++k) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

Matrix transposed(const Matrix& a) {
  Matrix t = zeros(static_cast<Index>(a[0].size()), static_cast<Index>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
  }
  return t;
}

Matrix mapped(Matrix a, const std::function<double(double)>& f) {
  for (auto& row : a) std::transform(row.begin(), row.end(), row.begin(), f);
  return a;
}

/// The tanh form of GELU.
double gelu_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double slope_of_gelu(double x) {
  const double a = std::sqrt(2 / std::numbers::pi);
  const double t = std::tanh(a * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * a * (1 + 3 * 0.044715 * x * x);
}

Matrix rows_of(const MadeData& data, Series series, std::size_t input, Index first) {
  const Tensor block = data.block(series, input, {first, first + kRows}, {0, kModel}, DType::f64);
  Matrix rows = zeros(kRows, kModel);
  for (Index i = 0; i < block.size(); ++i) {
    rows[static_cast<std::size_t>(i / kModel)][static_cast<std::size_t>(i % kModel)] = block.view<double>()[i];
  }
  return rows;
}

/// What the book's text says, with plain loops.
class PlainMlp {
 public:
  PlainMlp(const MlpConfig& config, const Optimizer& optimizer) : config_(config), optimizer_(optimizer) {
    for (Index layer = 0; layer < config.layers; ++layer) {
      for (const auto& [rows, columns] : {std::pair(kModel, kInner), std::pair(kInner, kModel)}) {
        Matrix w = zeros(rows, columns);
        for (Index i = 0; i < rows * columns; ++i) {
          w[static_cast<std::size_t>(i / columns)][static_cast<std::size_t>(i % columns)] = first_weight(i);
        }
        weights_.push_back(w);
        first_.push_back(zeros(rows, columns));
        second_.push_back(zeros(rows, columns));
      }
    }
  }

  double loss(const Matrix& in, const Matrix& target) {
    inputs_ = {in};
    before_.clear();
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      before_.push_back(product(inputs_.back(), weights_[i]));
      const bool activates = i % 2 == 0 && config_.activation == MlpActivation::gelu;
      inputs_.push_back(activates ? mapped(before_.back(), gelu_of) : before_.back());
    }
    double sum = 0;
    for (std::size_t b = 0; b < in.size(); ++b) {
      for (std::size_t d = 0; d < in[0].size(); ++d) sum += std::pow(inputs_.back()[b][d] - target[b][d], 2);
    }
    return sum / static_cast<double>(kRows * kModel);
  }

  StepResult step(const Matrix& in, const Matrix& target, double rate, Index number) {
    StepResult result;
    result.loss = loss(in, target);
    Matrix upstream = inputs_.back();
    for (std::size_t b = 0; b < in.size(); ++b) {
      for (std::size_t d = 0; d < in[0].size(); ++d) {
        upstream[b][d] = 2 * (upstream[b][d] - target[b][d]) / static_cast<double>(kRows * kModel);
      }
    }
    std::vector<Matrix> gradients(weights_.size());
    for (std::size_t i = weights_.size(); i-- > 0;) {
      const bool activates = i % 2 == 0 && config_.activation == MlpActivation::gelu;
      if (activates) {
        for (std::size_t b = 0; b < upstream.size(); ++b) {
          for (std::size_t f = 0; f < upstream[0].size(); ++f) upstream[b][f] *= slope_of_gelu(before_[i][b][f]);
        }
      }
      gradients[i] = product(transposed(inputs_[i]), upstream);
      upstream = product(upstream, transposed(weights_[i]));
    }
    double squares = 0;
    for (const Matrix& g : gradients) {
      for (const auto& row : g) squares = std::inner_product(row.begin(), row.end(), row.begin(), squares);
    }
    result.grad_norm = std::sqrt(squares);
    for (std::size_t i = 0; i < weights_.size(); ++i) update(i, gradients[i], result.grad_norm, rate, number);
    return result;
  }

  /// In the order of the layers: W_in, W_out, W_in, ...
  const std::vector<Matrix>& weights() const { return weights_; }

 private:
  void update(std::size_t i, const Matrix& g, double norm, double rate, Index number) {
    const auto* adamw = std::get_if<AdamW>(&optimizer_);
    for (std::size_t r = 0; r < g.size(); ++r) {
      for (std::size_t c = 0; c < g[0].size(); ++c) {
        double& w = weights_[i][r][c];
        if (adamw == nullptr) {
          w -= rate * g[r][c];
          continue;
        }
        const double clipped = g[r][c] * std::min(1.0, adamw->clip_norm / norm);
        double& m = first_[i][r][c];
        double& v = second_[i][r][c];
        m = adamw->beta1 * m + (1 - adamw->beta1) * clipped;
        v = adamw->beta2 * v + (1 - adamw->beta2) * clipped * clipped;
        const double m_hat = m / (1 - std::pow(adamw->beta1, static_cast<double>(number)));
        const double v_hat = v / (1 - std::pow(adamw->beta2, static_cast<double>(number)));
        w -= rate * (m_hat / (std::sqrt(v_hat) + adamw->eps) + adamw->weight_decay * w);
      }
    }
  }

  MlpConfig config_;
  Optimizer optimizer_;
  std::vector<Matrix> weights_, first_, second_;
  std::vector<Matrix> inputs_, before_;  ///< of each product: its left operand; and its result
};

struct Case {
  MlpConfig config;
  Optimizer optimizer;
};

const std::vector<Case>& training_cases() {
  static const std::vector<Case> cases = {
      {{.d_model = kModel, .d_ff = kInner}, PlainDescent{}},
      {{.d_model = kModel, .d_ff = kInner, .layers = 2, .activation = MlpActivation::gelu}, PlainDescent{}},
      {{.d_model = kModel, .d_ff = kInner, .layers = 2, .activation = MlpActivation::gelu},
       AdamW{{.weight_decay = 0.1, .clip_norm = 0.2}}},
  };
  return cases;
}

RunOnMesh run_of(const Case& trained, const Layout& layout, DType dtype = DType::f64) {
  TrainingOptions options;
  options.batch = {kRows, 1};
  options.learning_rate = kRate;
  options.steps = kSteps;
  options.warmup = 1;
  options.optimizer = trained.optimizer;
  options.dtype = dtype;
  RunOnMesh what = laid_out(layout, trained.config, options);
  what.run.start = [](State& state, const Model&) {
    for (const std::string& name : state.names()) {
      if (name.starts_with("W_")) state.fill(name, first_weight);
    }
  };
  return what;
}

/// Trains, and compares each step and the loss on held-out rows with the plain loops.
void expect_plain_training(const mpi::Communicator& comm, const Case& trained, const Layout& layout) {
  const MadeData data(kModel, 9);
  Job job(comm, run_of(trained, layout));
  Trainer& trainer = job.trainer();
  PlainMlp plain(trained.config, trained.optimizer);
  for (Index step = 0; step < kSteps; ++step) {
    const StepResult got = trainer.step(data, step);
    const StepResult want =
        plain.step(rows_of(data, Series::training, 0, step * kRows), rows_of(data, Series::training, 1, step * kRows),
                   learning_rate(trainer.options(), step + 1), step + 1);
    EXPECT_NEAR(got.loss, want.loss, 1e-10 * want.loss) << "step " << step + 1;
    EXPECT_NEAR(got.grad_norm, want.grad_norm, 1e-10 * want.grad_norm) << "step " << step + 1;
  }
  Index read = 0;
  const double held_out = trainer.evaluate(data, 1, read);
  EXPECT_EQ(read, kRows);
  const double want = plain.loss(rows_of(data, Series::held_out, 0, 0), rows_of(data, Series::held_out, 1, 0));
  EXPECT_NEAR(held_out, want, 1e-10 * want);
}

class MlpTrainer : public OnRanks {};

TEST_F(MlpTrainer, FollowsPlainLoopsUnderEveryStrategy) {
  std::vector<Layout> layouts;
  for (const char* role : {"dp", "zero1", "zero2", "fsdp", "tp"}) layouts.push_back({all_on_x_, role});
  if (world_.size() == 4) {
    layouts.push_back({"X=2,Y=2", "fsdp=X,tp=Y"});
    layouts.push_back({"X=2,Y=2", "zero1=X,fsdp=Y"});
  }
  for (const Case& trained : training_cases()) {
    for (Layout& layout : layouts) {
      for (const Index micro_batches : {1, 2, 3}) {
        SCOPED_TRACE(layout.mesh + " " + layout.strategy + ", micro-batches " + std::to_string(micro_batches));
        layout.form = {.micro_batches = micro_batches, .remat = micro_batches == 3 ? Remat::block : Remat::none};
        expect_plain_training(world_, trained, layout);
      }
    }
  }
}

/// How far weights have gone from the first ones.
struct Distance {
  double farthest = 0;  ///< of any weight
  double off = 0;       ///< the largest difference to the plain loops
};

Distance distance(const Trainer& trainer, const PlainMlp& plain) {
  Distance all;
  for (std::size_t i = 0; i < plain.weights().size(); ++i) {
    const ModelParameter& parameter = trainer.model().parameters[i];
    const Tensor whole = trainer.state().gather(trainer.program().program.array(parameter.array).name);
    EXPECT_EQ(whole.dtype(), DType::f32) << parameter.checkpoint_name;
    const Index columns = whole.extent(1);
    for (Index k = 0; k < whole.size(); ++k) {
      const double want =
          plain.weights()[i][static_cast<std::size_t>(k / columns)][static_cast<std::size_t>(k % columns)];
      all.farthest = std::max(all.farthest, std::abs(want - first_weight(k)));
      all.off = std::max(all.off, std::abs(static_cast<double>(whole.view<float>()[k]) - want));
    }
  }
  return all;
}

/// bf16 rounds each stored element by kRounding of it at most. In a layer a gradient depends on nine rounded arrays
/// (In, W_in, Tmp, W_out, Out, Target, dOut, dTmp and itself). Their errors have either sign, so that together they are
/// about one rounding; the test allows two. Plain descent moves the weights, which stay in f32, by the gradients.
TEST_F(MlpTrainer, InBf16IsOffByRoundingAlone) {
  const MadeData data(kModel, 9);
  for (const Case& trained : training_cases()) {
    if (!std::holds_alternative<PlainDescent>(trained.optimizer)) continue;  // AdamW takes the sign of small gradients
    const double tolerance = 2 * kRounding * static_cast<double>(trained.config.layers);
    for (const char* role : {"dp", "zero1", "fsdp", "tp"}) {
      for (const Index micro_batches : {1, 3}) {
        SCOPED_TRACE(fmt::format("{} layers, {}, micro-batches {}", trained.config.layers, role, micro_batches));
        const Layout layout{all_on_x_, role, {.micro_batches = micro_batches}};
        Job job(world_, run_of(trained, layout, DType::bf16));
        Job in_f32(world_, run_of(trained, layout, DType::f32));
        PlainMlp plain(trained.config, trained.optimizer);
        for (Index step = 0; step < kSteps; ++step) {
          const Matrix in = rows_of(data, Series::training, 0, step * kRows);
          const Matrix target = rows_of(data, Series::training, 1, step * kRows);
          const StepResult want = plain.step(in, target, learning_rate(job.trainer().options(), step + 1), step + 1);
          const StepResult got = job.trainer().step(data, step);
          const StepResult wide = in_f32.trainer().step(data, step);
          EXPECT_NEAR(got.loss, want.loss, kRounding * want.loss) << "step " << step + 1;
          EXPECT_NEAR(got.loss, wide.loss, kRounding * wide.loss) << "step " << step + 1;
          EXPECT_NE(got.loss, wide.loss);
          EXPECT_NEAR(got.grad_norm, want.grad_norm, kRounding * want.grad_norm) << "step " << step + 1;
          const Distance moved = distance(job.trainer(), plain);
          EXPECT_LE(moved.off, tolerance * moved.farthest) << "step " << step + 1;
        }
      }
    }
  }
}

TEST_F(MlpTrainer, WhatARunTakesIsKnownBefore) {
  for (const char* strategy : {"dp", "fsdp", "tp"}) {
    SCOPED_TRACE(strategy);
    const Case trained{{.d_model = 64, .d_ff = 96, .layers = 2}, AdamW{}};
    RunOnMesh what = run_of(trained, {all_on_x_, strategy, {.micro_batches = 2}});
    what.run.options.batch = {256, 1};
    what.run.start = {};
    expect_known_memory(world_, what, MadeData(64, 9));
  }
}

/// The first weights keep the size of what they multiply, whatever the widths.
TEST_F(MlpTrainer, StartsWithAResultOfTheSizeOfTheInput) {
  RunOnMesh what = run_of({{.d_model = 128, .d_ff = 300}, PlainDescent{}}, {all_on_x_, "fsdp"});
  what.run.options.batch = {64, 1};
  what.run.start = {};
  Job job(world_, what);
  // The mean of (Out - Target)^2 is that of both squares, as they are independent.
  EXPECT_NEAR(job.trainer().step(MadeData(128, 9), 0).loss, 2, 0.3);
}

}  // namespace
}  // namespace shardline
