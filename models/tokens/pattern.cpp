#include "models/tokens/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "models/tokens/pattern_syntax.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

/// True if an expression has "^" for the start of a line. PCRE2 does not tell.
bool has_line_start(std::string_view expression) {
  bool in_class = false;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\') {
      ++i;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
      if (expression.substr(i + 1).starts_with('^')) ++i;
    } else if (c == '^') {
      return true;
    }
  }
  return false;
}

PCRE2_SPTR bytes_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

void Pattern::Free::operator()(pcre2_code* code) const { pcre2_code_free(code); }
void Pattern::Free::operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
void Pattern::Free::operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
void Pattern::Free::operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }

Pattern Pattern::expression(const std::string& oniguruma) {
  Pattern pattern = pcre2(pcre2_pattern(oniguruma));
  pattern.source_ = oniguruma;
  return pattern;
}

Pattern Pattern::pcre2(const std::string& expression) {
  // Oniguruma's ^ and $ always stand for starts and ends of lines.
  Pattern pattern(expression, PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE);
  pattern.source_ = expression;
  return pattern;
}

Pattern Pattern::literal(const std::string& text) {
  require(!text.empty(), "an empty pattern is not implemented");
  return {text, PCRE2_UTF | PCRE2_LITERAL};
}

Pattern::Pattern(const std::string& text, unsigned options) {
  int error = 0;
  PCRE2_SIZE place = 0;
  const std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> settings(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(settings.get(), PCRE2_NEWLINE_LF);
  code_.reset(pcre2_compile(bytes_of(text), text.size(), options, &error, &place, settings.get()));
  require(code_ != nullptr, "the pattern \"{}\" cannot be compiled: {}", text, message_of(error));
  std::uint32_t looks_back = 0;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_MAXLOOKBEHIND, &looks_back);
  looks_back_ = looks_back > 0 || ((options & PCRE2_LITERAL) == 0 && has_line_start(text));
  data_.reset(pcre2_match_data_create(1, nullptr));
  context_.reset(pcre2_match_context_create(nullptr));
  // Without the compiler to machine code PCRE2 interprets: slower, with the same result.
  if (pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE) == 0) {
    constexpr std::size_t kLeast = 32 << 10;
    constexpr std::size_t kMost = 1 << 20;
    stack_.reset(pcre2_jit_stack_create(kLeast, kMost, nullptr));
    pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
  }
}

std::optional<Match> Pattern::find(std::string_view valid_text, std::size_t from) { return run(valid_text, from, 0); }

std::optional<Match> Pattern::find_certain(std::string_view valid_start, std::size_t from) {
  if (!certain_is_compiled_ && stack_ != nullptr) pcre2_jit_compile(code_.get(), PCRE2_JIT_PARTIAL_HARD);
  certain_is_compiled_ = true;
  // Then PCRE2 gives no match if it came to the end of the text on its way to one.
  return run(valid_start, from, PCRE2_PARTIAL_HARD);
}

bool Pattern::matches_at(std::string_view valid_text, std::size_t at) {
  return run(valid_text, at, PCRE2_ANCHORED).has_value();
}

std::optional<Match> Pattern::run(std::string_view valid_text, std::size_t from, unsigned options) {
  const auto attempt = [&](unsigned more) {
    return pcre2_match(code_.get(), bytes_of(valid_text), valid_text.size(), from, options | more | PCRE2_NO_UTF_CHECK,
                       data_.get(), context_.get());
  };
  int result = attempt(0);
  // The interpreter takes its memory from the heap.
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = attempt(PCRE2_NO_JIT);
  if (result == PCRE2_ERROR_NOMATCH || result == PCRE2_ERROR_PARTIAL) return std::nullopt;
  SHARDLINE_CHECK(result >= 0, "PCRE2: {}", message_of(result));
  const PCRE2_SIZE* places = pcre2_get_ovector_pointer(data_.get());
  return Match{places[0], places[1]};
}

}  // namespace shardline
