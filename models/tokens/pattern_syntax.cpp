#include "models/tokens/pattern_syntax.h"

#include <array>
#include <cstdlib>

#include "runtime/base/check.h"

namespace shardline {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

/// Walks through a pattern once and writes it again.
class Rewriter {
 public:
  explicit Rewriter(std::string_view pattern) : rest_(pattern) {}

  std::string rewritten() {
    if (rest_.starts_with("(?i)")) copy(4);
    while (!rest_.empty()) {
      if (rest_[0] == '\\') {
        rewrite_escape();
      } else if (rest_[0] == '[') {
        rewrite_class();
      } else if (rest_[0] == '(') {
        rewrite_group();
      } else if (rest_[0] == '{') {
        rewrite_brace();
      } else {
        copy(1);
      }
    }
    return result_;
  }

 private:
  /// Throws UsageError that shows the next `length` characters.
  [[noreturn]] void refuse(std::size_t length, std::string_view why) const {
    usage_error("\"{}\" in a pattern is not implemented{}{}", rest_.substr(0, length), why.empty() ? "" : ": ", why);
  }

  void copy(std::size_t length) {
    result_ += rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  void replace(std::size_t length, std::string_view by) {
    result_ += by;
    rest_.remove_prefix(length);
  }

  char at(std::size_t i) const { return i < rest_.size() ? rest_[i] : '\0'; }

  /// The number of characters from `start` on that are hexadecimal digits, at most `most`.
  std::size_t hex_digits(std::size_t start, std::size_t most) const {
    std::size_t count = 0;
    while (count < most && is_hex(at(start + count))) ++count;
    return count;
  }

  void rewrite_escape() {
    const char next = at(1);
    if (next == 's') return replace(2, R"(\p{White_Space})");
    if (next == 'S') return replace(2, R"(\P{White_Space})");
    if (next == 'v') return replace(2, R"(\x0b)");
    if (next == 'p' || next == 'P') return rewrite_property();
    if (next == 'x' || next == 'u') return rewrite_code_point();
    const bool letter_of_both = std::string_view("dDrntf").find(next) != std::string_view::npos;
    const bool literal = next != '\0' && is_ascii(next) && !is_digit(next) && !is_letter(next);
    if (!letter_of_both && !literal) refuse(2, "");
    copy(2);
  }

  /// \p{L}, \p{^Lu}, \P{Han}. PCRE2 reads the name of a script as "used with this script"; Oniguruma as "of it".
  void rewrite_property() {
    const std::size_t close = rest_.find('}');
    if (at(2) != '{' || close == std::string_view::npos) refuse(3, "a property stands in braces");
    std::string_view name = rest_.substr(3, close - 3);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    const bool category = name.size() == 1 || name.size() == 2;
    const char* letter = (at(1) == 'P') == negated ? "p" : "P";
    replace(close + 1, fmt::format(R"(\{}{{{}{}}})", letter, category ? "" : "sc:", name));
  }

  /// \x41, \x{1F600}, \u4E00
  void rewrite_code_point() {
    const bool braces = at(1) == 'x' && at(2) == '{';
    const std::size_t most = braces ? 8 : at(1) == 'x' ? 2 : 4;
    const std::size_t start = braces ? 3 : 2;
    const std::size_t count = hex_digits(start, most);
    if (count == 0 || (!braces && count != most) || (braces && at(start + count) != '}')) {
      refuse(start + count, R"(code points are \x41, \x{41} or \u0041)");
    }
    const std::string digits(rest_.substr(start, count));
    if (at(1) == 'x' && !braces && digits[0] >= '8') refuse(4, "it is a byte, not a character");
    replace(start + count + (braces ? 1 : 0), fmt::format(R"(\x{{{}}})", digits));
  }

  void rewrite_class() {
    copy(1);
    if (at(0) == '^') copy(1);
    if (at(0) == ']') refuse(1, "\"]\" as the first character of a class");
    while (!rest_.empty() && rest_[0] != ']') {
      if (rest_[0] == '[') refuse(2, "\"[\" in a class");
      if (rest_.starts_with("&&")) refuse(2, "the intersection of classes");
      if (rest_[0] == '\\') {
        rewrite_escape();
      } else {
        copy(1);
      }
    }
    if (rest_.empty()) usage_error("a pattern has \"[\" without \"]\"");
    copy(1);
  }

  void rewrite_group() {
    if (at(1) == '*') refuse(2, "");
    if (at(1) != '?') return copy(1);
    constexpr std::array<std::string_view, 7> kGroups{"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:"};
    for (const std::string_view group : kGroups) {
      if (rest_.starts_with(group)) return copy(group.size());
    }
    refuse(4, "");
  }

  /// {3}, {1,3} and {2,} count. Any other brace is a character.
  void rewrite_brace() {
    std::size_t end = 1;
    while (is_digit(at(end))) ++end;
    const bool has_least = end > 1;
    const bool has_comma = at(end) == ',';
    if (has_comma) ++end;
    while (is_digit(at(end))) ++end;
    if (at(end) != '}' || (!has_least && !has_comma)) return replace(1, R"(\{)");
    ++end;
    if (!has_least) refuse(end, "a count without its least number");
    if (at(end) == '+' || at(end) == '?') refuse(end + 1, "a possessive or lazy count");
    copy(end);
  }

  std::string_view rest_;
  std::string result_;
};

}  // namespace

std::string pcre2_pattern(std::string_view oniguruma) { return Rewriter(oniguruma).rewritten(); }

}  // namespace shardline
