#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokens/tokenizer.h"
#include "runtime/base/shape.h"
#include "runtime/host/mapped_file.h"

namespace shardline {

/// The bytes that TextSeries encodes at once, if the text can be cut.
inline constexpr Index kTextWindow = 256 << 10;

/// What TextSeries is made of.
struct TextSeriesOptions {
  std::vector<std::string> files;
  /// True: files whose names end with .jsonl hold a document in each line, an object of JSON with its text at "text".
  /// Any other file is one document.
  bool json_lines = false;
  std::optional<std::int32_t> end_token = {};  ///< comes after each document
};

/// The ids of a part of a series.
struct EncodedPart {
  /// A place at which the part may be cut, and what of the part lies before it.
  struct Cut {
    Index position = 0;
    std::size_t ids = 0;
    Index documents = 0;
    std::size_t files = 0;
  };

  Index begin = 0;  ///< positions in the series
  Index end = 0;
  std::vector<std::int32_t> ids = {};
  Index documents = 0;                      ///< that end in the part
  std::vector<std::size_t> file_ends = {};  ///< of each file that ends in the part: the number of ids up to there
  std::vector<Cut> cuts = {};               ///< the first ones, from `begin` on
};

/// Texts one after the other, to be encoded in parts by several ranks. A position counts the bytes of all files; at the
/// end of each file one position more stands for its end.
///
/// From some positions on, the ids do not depend on the text before: the *cuts* (see Tokenizer::encode_start()). A part
/// that begins within a text begins with a guess. From the first of its cuts on that is also a cut of the text
/// before, both go on in the same way, so its ids are right from there. enter() puts right those before.
class TextSeries {
 public:
  /// Maps the files. Throws UsageError, one line, for one that cannot be mapped. `tokenizer` must outlive this.
  TextSeries(TextSeriesOptions options, Tokenizer& tokenizer);

  /// The number of positions.
  Index size() const { return starts_.back(); }
  /// The bytes of all files.
  Index bytes() const { return size() - static_cast<Index>(files_.size()); }

  /// The bytes of one file.
  Index bytes_of(std::size_t file) const { return starts_[file + 1] - starts_[file] - 1; }

  /// The ids from about `begin` on, up to the first cut at `limit` or later. It begins with the first position that may
  /// be a cut. Throws UsageError for a document that cannot be read or is too long.
  EncodedPart part(Index begin, Index limit);
  /// Makes `part`, which was made for `limit`, begin with the cut `begin`. Throws as part().
  void enter(EncodedPart& part, Index begin, Index limit);

 private:
  struct Place {
    std::size_t file = 0;
    std::string_view rest;  ///< of the file
  };
  Place place_of(Index position) const;
  bool has_lines(std::size_t file) const;
  Index guess(Index begin) const;
  std::vector<EncodedPart::Cut> step(EncodedPart& part, Index limit, std::size_t window);
  void add_line(EncodedPart& part, const Place& place);
  std::vector<EncodedPart::Cut> add_text(EncodedPart& part, std::string_view rest, Index limit, std::size_t window);
  void end_document(EncodedPart& part) const;

  TextSeriesOptions options_;
  Tokenizer& tokenizer_;
  std::vector<std::unique_ptr<MappedFile>> files_;
  std::vector<Index> starts_;  ///< of the files, then the end of the last
};

}  // namespace shardline
