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

  /// In order.
  const std::vector<Split>& splits() const { return splits_; }
  bool has_prefix_space() const { return prefix_space_at_ != kNever; }

  /// Gives every word of `valid_text` (valid UTF-8) to `word`, in order. Words are not empty, and live until `word`
  /// returns.
  void words(std::string_view valid_text, const Sink& word) { cut(valid_text, 0, word); }

  /// What the words up to a place of a text, and those after it, are told of each other: nothing.
  struct Cuts {
    bool more_follows = false;               ///< the text has only begun
    std::function<void(std::size_t)> place;  ///< gets each cut, in bytes, when the words before it are given
  };
  /// True if texts can be cut: the first split is by a pattern that does not look back.
  bool can_cut() const;
  /// As words(), only if can_cut(). The words of the text from a cut on are the words that follow it here. If more
  /// follows, the words after the last cut are not given, and more text does not change those that are.
  void words(std::string_view valid_text, const Sink& word, const Cuts& cuts) {
    cut_at_matches(valid_text, 0, word, &cuts);
  }

 private:
  void cut(std::string_view piece, std::size_t stage, const Sink& word);
  void cut_at_matches(std::string_view piece, std::size_t stage, const Sink& word, const Cuts* cuts = nullptr);

  static constexpr std::size_t kNever = static_cast<std::size_t>(-1);
  std::vector<Split> splits_;
  std::size_t prefix_space_at_ = kNever;
  std::string prefixed_;
};

}  // namespace shardline
