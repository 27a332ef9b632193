#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/data/file_group.h"
#include "models/data/mixture.h"
#include "models/data/prompt_lines.h"
#include "models/data/sample_source.h"
#include "models/tokens/text_encoder.h"
#include "runtime/host/files.h"

namespace shardline {

/// What PromptData is made of.
struct PromptDataOptions {
  std::vector<FileGroup> groups;
  /// Files to hold out. If there are none, the last tenth of the lines of every file of the groups is held out.
  std::vector<std::string> held_out = {};
  Index sequence = 0;  ///< T, tokens of a sample
  std::uint64_t seed = 0;
  bool masks_prompts = false;  ///< only labels in the answer and the end token count
  bool packs = false;          ///< several lines share a sample
};

/// Lines of prompt and answer (see prompt_lines()). A sample is a line: the tokens of the prompt, those of the answer,
/// and the end token (see TextEncoder::end_tokens()), if there is one. The rest is padding, of id 0. Labels in the
/// padding are -1 and count nothing; so are those in the prompt, if prompts are masked. The label of a place is the
/// next token, so the last token of the prompt has the first of the answer as its label, and that counts.
///
/// Of T + 1 tokens a sample has all. Longer lines are cut at the end. A line of which no label counts is left out.
///
/// With `packs` a sample is several lines, each a document (see SampleSource). The lines to train on of a group are
/// taken in the order of the files, and so are all held-out lines. A line joins the sample of the line before it if
/// their tokens, with all in that sample, are at most T + 1; if not, it begins the next sample. So no line is cut that
/// has a place in a sample of its own. A line of n tokens takes n places, and has n - 1 labels. Only the last line of a
/// sample may have its last token in place T, where it is a label and no more. The padding is a document too, so that
/// no token of a line has to do with it.
///
/// Training goes through the samples of a group in epochs, in an order that the seed decides, and groups are mixed by
/// weight, as in TokenData. The held-out samples come in one shuffled order, which is the same for every seed.
class PromptData final : public SampleSource {
 public:
  /// Reads the bytes of a file. With several ranks, one rank reads and sends them to all.
  using Reader = std::function<std::string(const std::string& path)>;

  /// Reads the files, and keeps T + 1 tokens of each line. Throws UsageError, one line, if there is no file, one is
  /// missing, unreadable or wrong, a group has no line to train on, or nothing is held out.
  PromptData(const PromptDataOptions& options, TextEncoder& encoder, const Reader& read = read_file);

  /// Input 0 holds ids, input 1 labels, and input 2, of packs alone, starts; all i32.
  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override;
  std::size_t inputs() const override { return packs_ ? 3 : 2; }
  Index masked_labels(Series series, Range samples) const override;
  Index held_out() const override { return held_out_.size(); }

  /// The number of lines to train on, of all groups, and of the samples that they make.
  Index training_lines() const;
  Index training_samples() const;
  /// Lines that were longer than T + 1 tokens, and lines without a label that counts.
  Index cut() const { return cut_; }
  Index left_out() const { return left_out_; }
  /// A line with all that decides the samples beside the seed: numbers of lines and of packs, names of files, weights,
  /// what is masked, the end token. A hash stands for the texts of all files, how they become tokens, and what belongs
  /// together.
  std::string description() const;

 private:
  /// A line in tokens_.
  struct Line {
    std::size_t begin = 0;
    Index tokens = 0;  ///< at most T + 1
    Index first = 0;   ///< the first token that counts as a label; never 0
  };
  /// The lines of a sample.
  struct Lines {
    std::deque<Line>::const_iterator first;
    std::deque<Line>::const_iterator last;
    auto begin() const { return first; }
    auto end() const { return last; }
  };
  /// Lines, and the samples that they make.
  struct Samples {
    std::deque<Line> lines;
    std::deque<std::size_t> begins;  ///< for each sample, its first line
    Index filled = 0;                ///< tokens of the last sample

    Index size() const { return static_cast<Index>(begins.size()); }
    Lines at(Index i) const;
  };
  /// How files are read, and become tokens.
  struct Reading {
    TextEncoder& encoder;
    const Reader& read;
  };
  void add_group(const FileGroup& group, const Reading& reading);
  std::vector<Line> read_lines(const std::string& path, const Reading& reading);
  Line append(const PromptLine& line, const Reading& reading);
  void add_line(const Line& line, Samples& samples) const;
  Lines lines_of(Series series, Index i) const;
  std::vector<std::int32_t> row(std::size_t input, const Lines& lines) const;

  Index sequence_;
  std::uint64_t seed_;
  bool masks_prompts_;
  bool packs_;
  bool holds_out_;  ///< a tenth of the lines of every group
  Mixture mixture_;
  std::optional<std::int32_t> end_;
  std::deque<std::int32_t> tokens_;  ///< a vector would need three times its size as it grows
  std::vector<Samples> groups_;
  Samples held_out_;
  std::vector<std::string> names_;
  std::string hashed_;  ///< see description()
  Index cut_ = 0;
  Index left_out_ = 0;
};

}  // namespace shardline
