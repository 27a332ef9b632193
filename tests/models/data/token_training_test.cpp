// Training on token files on several ranks: the losses are those of one rank, on samples that a reader in this test
// takes from the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "models/data/token_data.h"
#include "models/training/training.h"
#include "tests/models/data/token_bytes.h"
#include "tests/models/small_training.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

constexpr Index kSteps = 12;
constexpr Index kVocab = 257;

std::vector<std::uint32_t> tokens() {
  std::vector<std::uint32_t> made;
  for (std::uint32_t i = 0; i < 600; ++i) made.push_back((i * i + 3 * i) % 97 + (i % 5 == 0 ? 160 : 0));
  return made;
}

struct Losses {
  std::vector<double> steps;
  double held_out = 0;
};

Losses train(const mpi::Communicator& comm, const std::string& axes, const std::string& strategy,
             const SampleSource& data) {
  const Mesh mesh(AbstractMesh::parse(axes), comm);
  collectives::Engine engine(mesh);
  TrainingOptions options = parity_options(DType::f64, kSteps);
  options.prices = any_hardware(mesh.axes());
  TransformerConfig config = parity_config(ParityTask::usual);
  config.vocab = kVocab;
  Trainer trainer(engine, plan_training({config, options, parse_strategy(strategy, mesh.axes())}, mesh.axes()),
                  options.prices);
  Losses losses;
  for (Index step = 0; step < kSteps; ++step) losses.steps.push_back(trainer.step(data, step).loss);
  Index read = 0;
  losses.held_out = trainer.evaluate(data, 3, read);
  return losses;
}

/// The windows of T + 1 of a list of tokens, as samples: an independent reader.
class ListData final : public SampleSource {
 public:
  ListData(std::vector<std::uint32_t> all, Index sequence, std::vector<Index> order, std::vector<Index> held_out)
      : all_(std::move(all)), sequence_(sequence), order_(std::move(order)), held_out_(std::move(held_out)) {}
  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override {
    Tensor block(dtype, {samples.size(), columns.size()});
    const std::vector<Index>& windows = series == Series::training ? order_ : held_out_;
    Index at = 0;
    for (Index i = samples.begin; i < samples.end; ++i) {
      const Index window = windows.at(static_cast<std::size_t>(i) % windows.size());
      for (Index c = columns.begin; c < columns.end; ++c) {
        const Index place = window * sequence_ + c + static_cast<Index>(input);
        block.view<std::int32_t>()[at++] = static_cast<std::int32_t>(all_.at(static_cast<std::size_t>(place)));
      }
    }
    return block;
  }
  Index held_out() const override { return static_cast<Index>(held_out_.size()); }

 private:
  std::vector<std::uint32_t> all_;
  Index sequence_;
  std::vector<Index> order_;
  std::vector<Index> held_out_;
};

/// The numbers of the windows of which these samples are.
std::vector<Index> windows_of(const SampleSource& data, Series series, Index samples, Index sequence,
                              const std::vector<std::uint32_t>& all) {
  const Tensor ids = data.block(series, 0, {0, samples}, {0, sequence}, DType::i32);
  std::vector<Index> windows;
  for (Index i = 0; i < samples; ++i) {
    for (Index w = 0; (w + 1) * sequence < static_cast<Index>(all.size()); ++w) {
      const std::int32_t* row = ids.view<std::int32_t>().begin() + i * sequence;
      if (std::equal(row, row + sequence, all.begin() + w * sequence)) windows.push_back(w);
    }
    EXPECT_EQ(static_cast<Index>(windows.size()), i + 1) << "windows differ, so a sample is one of them";
  }
  return windows;
}

TEST(TokenTraining, LossesAreThoseOfOneRank) {
  const mpi::Communicator world = mpi::Communicator::world();
  const mpi::Communicator alone = world.split(world.rank(), 0);
  const TemporaryFolder folder;  // of this rank: each rank maps its own file of the same bytes
  const std::string path = folder.write("a.bin", header_of(20240520, 1, 600) + bytes_of(tokens(), 2));
  const Index sequence = parity_options(DType::f64, kSteps).batch.tokens;
  const TokenData data({.groups = {{.files = {path}}}, .sequence = sequence, .vocab = kVocab, .seed = 3});
  const Index samples = kSteps * parity_options(DType::f64, kSteps).batch.sequences;
  ASSERT_GT(samples, data.training_windows()) << "the run must come into its second epoch";
  const ListData list(tokens(), sequence, windows_of(data, Series::training, samples, sequence, tokens()),
                      windows_of(data, Series::held_out, data.held_out(), sequence, tokens()));
  const Losses reference = train(alone, "X=1", "", list);
  EXPECT_LT(reference.steps.back(), reference.steps.front());
  for (const char* strategy : {"fsdp=X", "tp=X", "dp=X"}) {
    SCOPED_TRACE(strategy);
    const Losses run = train(world, "X=" + std::to_string(world.size()), strategy, data);
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
      EXPECT_NEAR(run.steps[i], reference.steps[i], 1e-10 * reference.steps[i]) << "step " << i + 1;
    }
    EXPECT_NEAR(run.held_out, reference.held_out, 1e-10 * reference.held_out);
  }
}

}  // namespace
}  // namespace shardline
