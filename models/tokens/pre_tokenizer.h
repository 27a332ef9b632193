#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokens/pattern.h"

namespace shardline {

/// What becomes of the text that a pattern matches.
enum class SplitBehavior {
  isolated,              ///< each match and each text between matches is a piece
  removed,               ///< only the texts between are pieces
  merged_with_previous,  ///< a match ends the piece before it
  merged_with_next,      ///< a match starts the piece after it
  contiguous             ///< matches side by side are one piece
};

/// Cuts each piece of text at the matches of a pattern.
struct Split {
  Pattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;  ///< the texts between are matches, and matches are texts between
};

/// Cuts text into words, which are then encoded one by one. Splits follow each other; each cuts the pieces of the one
/// before it, and sees nothing of a text but the piece.
class PreTokenizer {
 public:
  using Sink = std::function<void(std::string_view)>;

  /// Appends a split.
  void add(Split split) { splits_.push_back(std::move(split)); }
  /// From here on, a piece that does not start with a space gets one. Once at most.
  void add_prefix_space() { prefix_space_at_ = splits_.size(); }

  /// Gives every word of `valid_text` (valid UTF-8) to `word`, in order. Words are not empty, and live until `word`
  /// returns.
  void words(std::string_view valid_text, const Sink& word) { cut(valid_text, 0, word); }

 private:
  void cut(std::string_view piece, std::size_t stage, const Sink& word);
  void cut_at_matches(std::string_view piece, std::size_t stage, const Sink& word);

  static constexpr std::size_t kNever = static_cast<std::size_t>(-1);
  std::vector<Split> splits_;
  std::size_t prefix_space_at_ = kNever;
  std::string prefixed_;
};

}  // namespace shardline
