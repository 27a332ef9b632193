#include "models/tokens/pre_tokenizer.h"

#include <optional>

#include "models/tokens/utf8.h"

namespace shardline {
namespace {

/// Joins the segments of a text, matches and what is between them, into pieces.
template <class Emit>
class Joiner {
 public:
  Joiner(std::string_view text, SplitBehavior behavior, const Emit& emit)
      : text_(text), behavior_(behavior), emit_(emit) {}

  void add(Match place, bool is_match) {
    if (behavior_ == SplitBehavior::isolated) return emit(place);
    if (behavior_ == SplitBehavior::removed) {
      if (!is_match) emit(place);
      return;
    }
    if (held_ && joins(is_match)) {
      held_->end = place.end;
    } else {
      flush();
      held_ = place;
    }
    held_is_match_ = is_match;
  }

  void flush() {
    if (held_) emit(*held_);
    held_.reset();
  }

 private:
  /// Whether a segment belongs to the piece of the segment before it.
  bool joins(bool is_match) const {
    if (behavior_ == SplitBehavior::merged_with_previous) return is_match && !held_is_match_;
    if (behavior_ == SplitBehavior::merged_with_next) return !is_match && held_is_match_;
    return is_match == held_is_match_;
  }

  void emit(Match place) const {
    if (place.begin < place.end) emit_(text_.substr(place.begin, place.end - place.begin));
  }

  std::string_view text_;
  SplitBehavior behavior_;
  const Emit& emit_;
  std::optional<Match> held_;
  bool held_is_match_ = false;
};

}  // namespace

bool PreTokenizer::can_cut() const {
  if (splits_.empty() || prefix_space_at_ == 0 || splits_[0].pattern.looks_back()) return false;
  return splits_[0].behavior == SplitBehavior::isolated || splits_[0].behavior == SplitBehavior::removed;
}

void PreTokenizer::cut(std::string_view piece, std::size_t stage, const Sink& word) {
  if (stage == prefix_space_at_ && !piece.starts_with(' ')) {
    prefixed_.assign(1, ' ').append(piece);
    piece = prefixed_;
  }
  if (stage == splits_.size()) return word(piece);
  cut_at_matches(piece, stage, word);
}

void PreTokenizer::cut_at_matches(std::string_view piece, std::size_t stage, const Sink& word, const Cuts* cuts) {
  Split& split = splits_[stage];
  const auto next_stage = [&](std::string_view part) { cut(part, stage + 1, word); };
  Joiner joiner(piece, split.behavior, next_stage);
  std::size_t done = 0;  // the end of the last match
  std::size_t from = 0;
  bool matched = false;
  while (from <= piece.size()) {
    const std::optional<Match> match = cuts != nullptr && cuts->more_follows ? split.pattern.find_certain(piece, from)
                                                                             : split.pattern.find(piece, from);
    if (!match) break;
    if (match->begin == match->end && matched && match->end == done) {
      // An empty match right after a match is none.
      from += from < piece.size() ? first_character(piece.substr(from)).length : 1;
      continue;
    }
    if (match->begin > done) joiner.add({done, match->begin}, split.invert);
    joiner.add(*match, !split.invert);
    done = from = match->end;
    matched = true;
    if (cuts != nullptr) cuts->place(done);
  }
  if (cuts != nullptr && cuts->more_follows) return;
  if (done < piece.size()) joiner.add({done, piece.size()}, split.invert);
  joiner.flush();
}

}  // namespace shardline
