#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/data/sample_source.h"
#include "runtime/base/counter_rng.h"
#include "runtime/base/shape.h"
#include "runtime/host/files.h"

namespace shardline {

/// T token ids and, for each, the next id.
struct Sample {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> labels;
};

/// Text as bytes, one byte one token (256 ids). The last tenth of every file (rounded down) is held out. The
/// training text joins the rest of the files in the given order. The held-out text joins their last tenths in
/// the same order.
class ByteData final : public SampleSource {
 public:
  /// Reads the bytes of a file. With several ranks, one rank reads and sends them to all.
  using Reader = std::function<std::string(const std::string& path)>;

  /// Reads the files and cuts samples of `sequence` tokens. Throws UsageError if there is no file, a file is
  /// missing, unreadable or empty, or the training or held-out text is too short for one sample.
  ByteData(const std::vector<std::string>& files, Index sequence, std::uint64_t seed, const Reader& read = read_file);

  Index sequence() const { return sequence_; }
  std::span<const std::uint8_t> training_text() const { return training_; }
  std::span<const std::uint8_t> held_out_text() const { return held_out_; }

  /// Sample `i` >= 0 of an endless series. Its place in the training text is a pure function of (seed, i).
  Sample training_sample(Index i) const;

  /// The number of consecutive windows of the held-out text. The rest at the end is shorter than a window.
  Index validation_samples() const;
  /// Window `i` in [0, validation_samples()).
  Sample validation_sample(Index i) const;

  /// Input 0 holds ids, input 1 labels, both i32. The held-out samples are the windows.
  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override;
  Index held_out() const override { return validation_samples(); }

  /// Loss of the bigram table on the labels of the first `samples` windows, in nats.
  double bigram_loss(Index samples) const;

 private:
  Index sequence_;
  CounterRng rng_;
  std::vector<std::uint8_t> training_;
  std::vector<std::uint8_t> held_out_;
};

/// Loss of a bigram model in nats: the mean of -ln p(byte | previous byte) over `held_out` without its first
/// byte. p comes from the counts of all 256 x 256 pairs in `training`, plus one for each pair. `held_out` needs
/// two bytes.
double bigram_loss(std::span<const std::uint8_t> training, std::span<const std::uint8_t> held_out);

/// Text files to train on.
struct Corpus {
  std::vector<std::string> files;
  Index skipped = 0;  ///< skipped entries that could hold text
};

/// The sources and documentation under `root`: .h .cpp .md .sh .txt and .cmake files that are not empty, in
/// alphabetical order of their paths, without hidden folders and build folders. Skips and counts links to
/// folders, broken or circular links, unreadable entries, pipes and other special files, and names with a
/// newline. Throws UsageError if no file is left.
Corpus default_corpus(const std::string& root);

}  // namespace shardline
