#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/counter_rng.h"
#include "runtime/base/shape.h"
#include "runtime/host/files.h"

namespace shardline {

/// T token ids and, for each, the id that follows it.
struct Sample {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> labels;
};

/// Text as bytes, one byte one token (256 ids). The last tenth of every file (rounded down) is held out; the training
/// text is what remains of the files, one after the other in the order given, the held-out text their tenths likewise.
/// Samples are addressed by index, so that every mesh, whatever its batch per rank, sees the same ones.
class ByteData {
 public:
  /// How the bytes of a file are read. With several ranks, one reads and sends them to all.
  using Reader = std::function<std::string(const std::string& path)>;

  /// Reads the files and cuts samples of `sequence` tokens. Throws UsageError when there is no file, when one is
  /// missing, unreadable or empty, and when the training or the held-out text is too short for one sample.
  ByteData(const std::vector<std::string>& files, Index sequence, std::uint64_t seed, const Reader& read = read_file);

  Index sequence() const { return sequence_; }
  std::span<const std::uint8_t> training_text() const { return training_; }
  std::span<const std::uint8_t> held_out_text() const { return held_out_; }

  /// Sample `i` >= 0 of an endless supply: starts at a place in the training text that is a pure function of (seed, i).
  Sample training_sample(Index i) const;

  /// Consecutive windows of the held-out text; what is left at its end is shorter than one.
  Index validation_samples() const;
  /// Window `i` in [0, validation_samples()).
  Sample validation_sample(Index i) const;
  /// Loss of the bigram table on the labels of the first `samples` windows, in nats.
  double bigram_loss(Index samples) const;

 private:
  Index sequence_;
  CounterRng rng_;
  std::vector<std::uint8_t> training_;
  std::vector<std::uint8_t> held_out_;
};

/// Loss of a bigram model: the mean of -ln p(byte | byte before) over `held_out` without its first byte, in nats. p
/// comes from the counts of all 256 x 256 pairs in `training`, plus one for each pair. Needs two bytes of `held_out`.
double bigram_loss(std::span<const std::uint8_t> training, std::span<const std::uint8_t> held_out);

/// Text files to train on.
struct Corpus {
  std::vector<std::string> files;
  Index skipped = 0;  ///< entries left out that could hold text
};

/// The sources and documentation under `root`: .h .cpp .md .sh .txt and .cmake files that are not empty, in
/// alphabetical order of their paths below it; without hidden folders and build folders. Skipped and counted are links
/// to folders, links that lead nowhere or go in circles, what cannot be read, pipes and the like, and names with a
/// newline. Throws UsageError when no file is left.
Corpus default_corpus(const std::string& root);

}  // namespace shardline
