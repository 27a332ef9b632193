#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/data/file_group.h"
#include "models/data/mixture.h"
#include "models/data/sample_source.h"
#include "models/data/token_windows.h"

namespace shardline {

/// Gives the tokens of a file.
using TokenOpener = std::function<std::shared_ptr<const TokenFile>(const std::string& path)>;

/// What TokenData is made of.
struct TokenDataOptions {
  std::vector<FileGroup> groups;
  /// Files to hold out. If there are none, the last tenth of the windows of every file of the groups is held out.
  std::vector<std::string> held_out = {};
  Index sequence = 0;  ///< T, tokens of a sample
  Index vocab = 0;     ///< ids of the model are below this
  std::uint64_t seed = 0;
  TokenOpener open = {};  ///< without it, files are token files, which are mapped
  /// The token that ends each document. With it, a window holds the documents that its tokens are of (see
  /// SampleSource).
  std::optional<std::int32_t> document_end = {};
};

/// Token files, cut into windows (see TokenWindows). A sample is a window.
///
/// Training goes through a group in epochs. Each epoch has every window once, in an order of its own that the seed
/// decides. Several groups are mixed by weight (see Mixture), and each goes through its own epochs. So sample i is a
/// pure function of the files, the seed and i, and the position in the data is one number.
///
/// The held-out windows of all files come in one shuffled order, which is the same for every seed. So any number of
/// them speaks for all files.
///
/// With `document_end` the first token of a window, and each that follows that token, begins a document. So one that
/// began in the window before begins anew.
///
/// A file may have many gigabytes, so no token is read before it is needed. Tokens are compared with the vocabulary
/// when block() reads them; at the start only those of the first and the last window of each file are.
class TokenData final : public SampleSource {
 public:
  /// Maps the files. Throws UsageError, one line, if there is none, one cannot be used (see TokenFile), one has a token
  /// beyond the vocabulary in its first or last window, a group has no window to train on, or nothing is held out.
  explicit TokenData(const TokenDataOptions& options);

  /// Input 0 holds ids, input 1 labels, and input 2, with `document_end` alone, starts; all i32. Throws UsageError with
  /// file and position if a token is beyond the vocabulary. Other ranks may have read other tokens, so this may be on
  /// one rank alone; it ends the job.
  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override;
  std::size_t inputs() const override { return document_end_ ? 3 : 2; }
  Index masked_labels(Series series, Range samples) const override;
  Index held_out() const override { return held_out_.size(); }

  /// The number of windows to train on, of all groups.
  Index training_windows() const;
  /// A line with all that decides the samples beside the seed: numbers of tokens, names of files, weights, and what
  /// ends documents. A hash stands for the names and sizes of all files, and for what belongs together; of tokens in
  /// memory (with `open`) also for the tokens.
  std::string description() const;

 private:
  TokenWindows::Place window(Series series, Index i) const;
  bool ends_document(const TokenFile& file, Index i) const;
  std::int32_t label(const TokenFile& file, Index i) const;
  std::vector<std::int32_t> starts(const TokenWindows::Place& window, Range columns) const;
  std::int32_t checked(const TokenFile& file, Index i) const;
  std::shared_ptr<const TokenFile> open(const std::string& path, const TokenDataOptions& options);
  void add_group(const FileGroup& group, const TokenDataOptions& options);

  Index sequence_;
  Index vocab_;
  std::uint64_t seed_;
  std::optional<std::int32_t> document_end_;
  Mixture mixture_;
  std::vector<TokenWindows> groups_;
  TokenWindows held_out_;
  std::vector<std::shared_ptr<const TokenFile>> files_;
  std::string hashed_;  ///< hashes of tokens, see description()
};

}  // namespace shardline
