#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "models/data/sample_source.h"
#include "tools/training/train_options.h"

namespace shardline::tools {

/// The samples of a run.
struct TrainData {
  std::unique_ptr<SampleSource> samples;
  std::string description;   ///< "text: 1000 bytes to train on, 100 held out"
  std::string encoded = {};  ///< a line about text that was encoded; empty if none was
  /// Of text: the loss of the bigram table on so many windows of the held-out text, in nats.
  std::function<double(Index windows)> bigram_loss;
  /// Of text and tokens: the loss of a model that takes every id for equally likely, in nats.
  std::optional<double> uniform_loss;
};

/// Collective over all ranks: reads or encodes text or lines, maps the token files, or gets ready to make rows. Rank 0
/// reads text and lines for all; every rank maps the token files itself. Throws UsageError as ByteData, PromptData and
/// TokenData, with the rank if it is not rank 0; also if a rank sees other token files than rank 0.
TrainData train_data(const Job& job, const TrainOptions& options);

}  // namespace shardline::tools
