// Labels that do not count. The loss is the mean over those that do, in the whole batch, and so is its gradient: on
// every mesh, with stages, and in any number of micro-batches. The oracle is a Transformer in plain loops.
#include <gtest/gtest.h>

#include <cmath>

#include "models/training/training.h"
#include "tests/models/training/job.h"
#include "tests/models/training/plain_transformer.h"

namespace shardline {
namespace {

constexpr Index kRows = 8;
constexpr Index kTokens = 5;
constexpr int kVocab = 11;

TransformerConfig config() {
  return {.vocab = kVocab,
          .d_model = 6,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 4,
          .d_ff = 5,
          .initializer_range = 0.3};
}

/// Rows whose labels count from one place to another, as in `counting`.
PlainRows rows_with(const std::vector<std::array<int, 2>>& counting, int seed) {
  PlainRows rows;
  for (std::size_t row = 0; row < counting.size(); ++row) {
    std::vector<int> tokens;
    for (int t = 0; t <= kTokens; ++t) tokens.push_back((seed + 7 * static_cast<int>(row) + 3 * t * t) % kVocab);
    std::vector<int> labels;
    for (int t = 0; t < kTokens; ++t) {
      const bool counts = t >= counting[row][0] && t < counting[row][1];
      labels.push_back(counts ? tokens[static_cast<std::size_t>(t) + 1] : -1);
    }
    rows.ids.emplace_back(tokens.begin(), tokens.end() - 1);
    rows.labels.push_back(labels);
  }
  return rows;
}

/// Some rows count wholly, some in part, some not at all; the first two, a micro-batch of four, do not.
PlainRows training_rows() { return rows_with({{0, 0}, {5, 5}, {0, 5}, {3, 5}, {2, 3}, {0, 0}, {0, 1}, {1, 4}}, 1); }

/// Fewer than a batch, so that rows of it are not needed.
PlainRows held_out_rows() { return rows_with({{4, 5}, {0, 5}, {0, 0}, {1, 2}, {2, 5}}, 4); }

class Rows final : public SampleSource {
 public:
  Rows(PlainRows training, PlainRows held_out) : training_(std::move(training)), held_out_(std::move(held_out)) {}
  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override {
    const PlainRows& from = series == Series::training ? training_ : held_out_;
    Tensor block(dtype, {samples.size(), columns.size()});
    Index at = 0;
    for (Index i = samples.begin; i < samples.end; ++i) {
      const auto& row = (input == 0 ? from.ids : from.labels)[static_cast<std::size_t>(i) % from.ids.size()];
      for (Index c = columns.begin; c < columns.end; ++c) {
        block.view<std::int32_t>()[at++] = row[static_cast<std::size_t>(c)];
      }
    }
    return block;
  }
  Index masked_labels(Series series, Range samples) const override {
    const PlainRows& from = series == Series::training ? training_ : held_out_;
    Index masked = 0;
    for (Index i = samples.begin; i < samples.end; ++i) {
      const auto& labels = from.labels[static_cast<std::size_t>(i) % from.ids.size()];
      masked += std::count(labels.begin(), labels.end(), -1);
    }
    return masked;
  }
  Index held_out() const override { return static_cast<Index>(held_out_.ids.size()); }

 private:
  PlainRows training_;
  PlainRows held_out_;
};

/// Plain descent of rate 1, so that a step subtracts the gradient.
RunOnMesh run_of(const Layout& layout, DType dtype) {
  TrainingOptions options;
  options.batch = {kRows, kTokens};
  options.learning_rate = 1;
  options.least_share = 1;
  options.steps = 1;
  options.warmup = 0;
  options.optimizer = PlainDescent{};
  options.dtype = dtype;
  options.seed = 3;
  return laid_out(layout, config(), options);
}

/// The weights that start a run of one rank, as whole arrays.
std::map<std::string, std::vector<double>> first_weights(const mpi::Communicator& alone) {
  Job job(alone, run_of({}, DType::f64));
  std::map<std::string, std::vector<double>> weights;
  for (const std::string& name : job.state().names()) {
    const Tensor whole = job.state().gather(name);
    weights[name] = {whole.view<double>().begin(), whole.view<double>().end()};
  }
  return weights;
}

double norm_of(const std::map<std::string, std::vector<double>>& arrays) {
  double squares = 0;
  for (const auto& [name, values] : arrays) {
    for (const double value : values) squares += value * value;
  }
  return std::sqrt(squares);
}

/// What the plain loops make of the rows.
struct Wanted {
  double loss = 0;
  std::map<std::string, std::vector<double>> gradients;
  std::map<std::string, std::vector<double>> after;  ///< weights
  double held_out = 0;                               ///< loss, by `after`
};

class MaskedTraining : public OnRanks {
 protected:
  MaskedTraining() {
    static const std::map<std::string, std::vector<double>> kFirst = first_weights(alone_);
    static const Wanted kWanted = [] {
      PlainTransformer plain(config(), kFirst);
      Wanted wanted{
          .loss = plain.loss(training_rows()), .gradients = plain.gradients(training_rows()), .after = kFirst};
      for (auto& [name, values] : wanted.after) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] -= wanted.gradients.at(name)[i];
      }
      wanted.held_out = PlainTransformer(config(), wanted.after).loss(held_out_rows());
      return wanted;
    }();
    first_ = &kFirst;
    wanted_ = &kWanted;
  }

  /// Collective over the mesh: a step and an evaluation, beside the plain loops.
  void expect_wanted(const mpi::Communicator& comm, const Layout& layout, DType dtype, double tolerance) {
    SCOPED_TRACE(fmt::format("{} {} micro-batches {}", layout.mesh, layout.strategy, layout.form.micro_batches));
    Job job(comm, run_of(layout, dtype));
    const Rows rows(training_rows(), held_out_rows());
    const StepResult step = job.trainer().step(rows, 0);
    EXPECT_EQ(step.labels, 5 + 2 + 1 + 1 + 3);
    EXPECT_NEAR(step.loss, wanted_->loss, tolerance * wanted_->loss);
    const double norm = norm_of(wanted_->gradients);
    EXPECT_NEAR(step.grad_norm, norm, tolerance * norm);
    Index read = 0;
    EXPECT_NEAR(job.trainer().evaluate(rows, 1, read), wanted_->held_out, tolerance * wanted_->held_out);
    EXPECT_EQ(read, 5);
    for (const std::string& name : job.state().names()) expect_gradient(job.state(), name, tolerance);
  }

  const std::map<std::string, std::vector<double>>* first_ = nullptr;
  const Wanted* wanted_ = nullptr;

 private:
  void expect_gradient(const State& state, const std::string& name, double tolerance) {
    const Tensor after = state.gather(name);
    const std::vector<double>& before = first_->at(name);
    const std::vector<double>& want = wanted_->gradients.at(name);
    double largest = 0;
    for (const double value : want) largest = std::max(largest, std::abs(value));
    ASSERT_GT(largest, 0) << name;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const auto at = static_cast<Index>(i);
      const double now =
          after.dtype() == DType::f64 ? after.view<double>()[at] : static_cast<double>(after.view<float>()[at]);
      ASSERT_NEAR(before[i] - now, want[i], tolerance * std::max(largest, 0.1)) << name << " " << i;
    }
  }
};

TEST_F(MaskedTraining, EveryLayoutGivesTheMeanOverWhatCounts) {
  for (int ranks = 1; ranks <= world_.size(); ++ranks) {
    on_first(world_, ranks, [&](const mpi::Communicator& part) {
      for (const char* role : {"dp", "zero2", "fsdp", "tp", "tp_seq", "pp"}) {
        for (const Index micro_batches : {1, 2, 8}) {
          const Layout layout{.mesh = fmt::format("X={}", ranks),
                              .strategy = fmt::format("{}=X", role),
                              .form = {.micro_batches = micro_batches}};
          expect_wanted(part, layout, DType::f64, 1e-10);
        }
      }
    });
  }
}

TEST_F(MaskedTraining, SeveralRolesTogether) {
  on_first(world_, 4, [&](const mpi::Communicator& part) {
    for (const char* strategy : {"dp=X,tp=Y", "fsdp=X,tp_seq=Y", "pp=X,fsdp=Y", "tp=X,pp=Y"}) {
      expect_wanted(part, {.mesh = "X=2,Y=2", .strategy = strategy, .form = {.micro_batches = 4}}, DType::f64, 1e-10);
    }
  });
}

TEST_F(MaskedTraining, OtherElementTypesAreClose) {
  on_first(world_, 2, [&](const mpi::Communicator& part) {
    for (const Index micro_batches : {1, 4}) {
      const Layout layout{.mesh = "X=2", .strategy = "fsdp=X", .form = {.micro_batches = micro_batches}};
      expect_wanted(part, layout, DType::f32, 1e-5);
      expect_wanted(part, layout, DType::bf16, 3e-2);
    }
  });
}

/// Nothing to learn: the loss and the gradient are 0, and no weight becomes NaN.
TEST_F(MaskedTraining, ABatchInWhichNothingCountsChangesNothing) {
  const PlainRows nothing = rows_with(std::vector<std::array<int, 2>>(kRows, {0, 0}), 2);
  on_first(world_, 2, [&](const mpi::Communicator& part) {
    for (const bool descends : {true, false}) {
      RunOnMesh what = run_of({.mesh = "X=2", .strategy = "fsdp=X"}, DType::f64);
      if (!descends) what.run.options.optimizer = AdamW{{.weight_decay = 0, .clip_norm = 0.5}};
      Job job(part, what);
      const Rows rows(nothing, nothing);
      const StepResult step = job.trainer().step(rows, 0);
      EXPECT_EQ(step.labels, 0);
      EXPECT_EQ(step.loss, 0);
      EXPECT_EQ(step.grad_norm, 0);
      Index read = 0;
      EXPECT_EQ(job.trainer().evaluate(rows, 1, read), 0);
      for (const auto& [name, before] : *first_) {
        const Tensor after = job.state().gather(name);
        const std::vector<double> now = {after.view<double>().begin(), after.view<double>().end()};
        EXPECT_EQ(now, before) << name;
      }
    }
  });
}

}  // namespace
}  // namespace shardline
