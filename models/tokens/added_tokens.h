#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokens/pattern.h"

namespace shardline {

/// A token that is cut out of a text before words are made: "<|endoftext|>".
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool single_word = false;  ///< found only where no word character (letter, mark, digit, _) stands beside it
  bool left_strip = false;   ///< takes the white space before it along
  bool right_strip = false;  ///< takes the white space after it along
  bool normalized = false;   ///< is looked for in the normalized text
  bool special = false;      ///< no part of a text for people: a mark for the model
};

/// Finds added tokens in texts: the leftmost, and the longest of those that start there.
class AddedTokens {
 public:
  /// `content` must not be empty. Two tokens with one content are one: the later.
  void add(AddedToken token);

  /// The bytes of the longest token; 0 if there is none.
  std::size_t longest() const { return longest_; }
  /// True if no token looks at what stands beside it.
  bool stand_for_themselves() const;

  /// Gets a token and the place behind it.
  using TokenSink = std::function<void(std::int32_t id, std::size_t end)>;
  /// Cuts `valid_text` (valid UTF-8) at the tokens. Calls `text` for what lies between, never empty, and `token` for
  /// each token, in order.
  void split(std::string_view valid_text, const std::function<void(std::string_view)>& text, const TokenSink& token) {
    split(valid_text, valid_text.size(), text, token);
  }
  /// The same for a text that ends at byte `until`, but for tokens that start before and end after it.
  void split(std::string_view valid_text, std::size_t until, const std::function<void(std::string_view)>& text,
             const TokenSink& token);

 private:
  struct Node {
    std::map<char, std::size_t> next;
    std::optional<std::size_t> token;
  };
  struct Found {
    Match place;
    const AddedToken* token = nullptr;
  };

  std::optional<Found> find(std::string_view text, std::size_t from) const;
  bool stands_alone(std::string_view text, Match place);

  std::vector<AddedToken> tokens_;
  std::size_t longest_ = 0;
  std::vector<Node> tree_ = std::vector<Node>(1);
  std::array<bool, 256> first_bytes_{};
  Pattern word_character_ = Pattern::pcre2(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}])");
  Pattern white_space_ = Pattern::pcre2(R"(\p{White_Space})");
};

}  // namespace shardline
