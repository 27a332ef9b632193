#include "models/tokens/added_tokens.h"

#include <algorithm>
#include <utility>

#include "models/tokens/utf8.h"

namespace shardline {

void AddedTokens::add(AddedToken token) {
  longest_ = std::max(longest_, token.content.size());
  std::size_t node = 0;
  for (const char byte : token.content) {
    const auto [place, is_new] = tree_[node].next.try_emplace(byte, tree_.size());
    node = place->second;
    if (is_new) tree_.emplace_back();
  }
  first_bytes_[static_cast<unsigned char>(token.content[0])] = true;
  tree_[node].token = tokens_.size();
  tokens_.push_back(std::move(token));
}

std::optional<AddedTokens::Found> AddedTokens::find(std::string_view text, std::size_t from) const {
  const auto is_first = [&](char byte) { return first_bytes_[static_cast<unsigned char>(byte)]; };
  while (true) {
    from = static_cast<std::size_t>(std::find_if(text.begin() + from, text.end(), is_first) - text.begin());
    if (from == text.size()) return std::nullopt;
    std::optional<Found> longest;
    std::size_t node = 0;
    for (std::size_t end = from; end < text.size();) {
      const auto next = tree_[node].next.find(text[end]);
      if (next == tree_[node].next.end()) break;
      node = next->second;
      ++end;
      if (tree_[node].token) longest = Found{{from, end}, &tokens_[*tree_[node].token]};
    }
    if (longest) return longest;
    ++from;
  }
}

bool AddedTokens::stands_alone(std::string_view text, Match place) {
  const bool word_before =
      place.begin > 0 && word_character_.matches_at(text, place.begin - length_of_character_before(text, place.begin));
  const bool word_after = place.end < text.size() && word_character_.matches_at(text, place.end);
  return !word_before && !word_after;
}

bool AddedTokens::stand_for_themselves() const {
  return std::none_of(tokens_.begin(), tokens_.end(), [](const AddedToken& token) {
    return token.single_word || token.left_strip || token.right_strip;
  });
}

void AddedTokens::split(std::string_view valid_text, std::size_t until,
                        const std::function<void(std::string_view)>& text, const TokenSink& token) {
  std::size_t done = 0;
  std::size_t from = 0;
  while (const std::optional<Found> found = find(valid_text, from)) {
    auto [begin, end] = found->place;
    if (begin >= until) break;
    from = end;
    if (found->token->single_word && !stands_alone(valid_text, found->place)) continue;
    while (found->token->left_strip && begin > done) {
      const std::size_t previous = begin - length_of_character_before(valid_text, begin);
      if (!white_space_.matches_at(valid_text, previous)) break;
      begin = previous;
    }
    while (found->token->right_strip && end < valid_text.size() && white_space_.matches_at(valid_text, end)) {
      end += first_character(valid_text.substr(end)).length;
    }
    if (done < begin) text(valid_text.substr(done, begin - done));
    token(found->token->id, end);
    done = end;
  }
  if (done < until) text(valid_text.substr(done, until - done));
}

}  // namespace shardline
