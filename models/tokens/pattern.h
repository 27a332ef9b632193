#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_jit_stack_8;

namespace shardline {

/// The place of a match in a text, in bytes.
struct Match {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A compiled regular expression (PCRE2, with its compiler to machine code where there is one).
class Pattern {
 public:
  /// Compiles an expression as `tokenizer.json` writes it (pattern_syntax.h says what is refused). Throws
  /// UsageError, one line without the name of the file.
  static Pattern expression(const std::string& oniguruma);
  /// The same for an expression that is written for PCRE2.
  static Pattern pcre2(const std::string& expression);
  /// Matches exactly this text. Empty texts are refused.
  static Pattern literal(const std::string& text);

  /// The expression as it was given; of a literal nothing.
  const std::string& source() const { return source_; }

  /// The first match in `valid_text` (valid UTF-8) that starts at byte `from` or later. Throws Error if PCRE2 reaches
  /// a limit.
  std::optional<Match> find(std::string_view valid_text, std::size_t from);
  /// The same for the start of a text: the match, if it is the first one whatever follows `valid_start`. Empty if there
  /// is none, or if more text might change it. Looks back over nothing before `from` unless looks_back().
  std::optional<Match> find_certain(std::string_view valid_start, std::size_t from);
  /// False if matches depend only on the text from their search on: no "^", no "(?<=".
  bool looks_back() const { return looks_back_; }
  /// True if a match starts at byte `at`.
  bool matches_at(std::string_view valid_text, std::size_t at);

 private:
  Pattern(const std::string& text, unsigned options);
  std::optional<Match> run(std::string_view valid_text, std::size_t from, unsigned options);

  struct Free {
    void operator()(pcre2_real_code_8* code) const;
    void operator()(pcre2_real_match_data_8* data) const;
    void operator()(pcre2_real_match_context_8* context) const;
    void operator()(pcre2_real_jit_stack_8* stack) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  std::unique_ptr<pcre2_real_match_data_8, Free> data_;
  std::unique_ptr<pcre2_real_match_context_8, Free> context_;
  std::unique_ptr<pcre2_real_jit_stack_8, Free> stack_;
  std::string source_;
  bool looks_back_ = false;
  bool certain_is_compiled_ = false;  ///< to machine code
};

}  // namespace shardline
