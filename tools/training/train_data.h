#pragma once

#include <functional>
#include <memory>
#include <string>

#include "models/data/sample_source.h"
#include "tools/training/train_options.h"

namespace shardline::tools {

/// The samples of a run.
struct TrainData {
  std::unique_ptr<SampleSource> samples;
  std::string description;  ///< "text: 1000 bytes to train on, 100 held out"
  /// Of text: the loss of the bigram table on so many windows of the held-out text, in nats.
  std::function<double(Index windows)> bigram_loss;
};

/// Collective over all ranks: reads the text, or gets ready to make rows. Throws UsageError as ByteData.
TrainData train_data(const Job& job, const TrainOptions& options);

}  // namespace shardline::tools
