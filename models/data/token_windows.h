#pragma once

#include <memory>
#include <vector>

#include "models/data/token_file.h"

namespace shardline {

/// Windows of T ids and their T labels, the next ids: T + 1 tokens of one file. Window w of a file begins at token w*T,
/// so no label is in two windows and no window crosses files. The tokens after the last window of a file are left out.
class TokenWindows {
 public:
  explicit TokenWindows(Index sequence) : sequence_(sequence) {}

  /// The number of windows in a file.
  static Index in_file(const TokenFile& file, Index sequence) { return (file.tokens() - 1) / sequence; }

  /// Appends some windows of a file.
  void add(std::shared_ptr<const TokenFile> file, Range windows);

  /// The number of windows of all parts.
  Index size() const { return parts_.empty() ? 0 : parts_.back().end; }

  struct Place {
    const TokenFile* file = nullptr;
    Index first = 0;  ///< the token with which the window begins
  };
  /// Where window `i` in [0, size()) is, by binary search.
  Place at(Index i) const;

 private:
  struct Part {
    std::shared_ptr<const TokenFile> file;
    Index first = 0;  ///< window of the file with which the part begins
    Index end = 0;    ///< windows up to the end of the part, over all parts
  };
  Index sequence_;
  std::vector<Part> parts_;
};

}  // namespace shardline
