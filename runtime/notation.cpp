#include "runtime/notation.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "runtime/base/check.h"

namespace shardline {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Characters (not bytes) of UTF-8 text.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// Recursive descent over the grammar of docs/notation.md, a function per rule. Every token skips the space before it.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  ParsedProduct product() {
    ParsedProduct product;
    do {
      product.operands.push_back(array());
    } while (take("*") || take("@") || take("·"));
    if (take("->") || take("→")) product.result = array();
    return product;
  }

  ParsedArray array() {
    ParsedArray array;
    skip_space();
    array.column = characters(text_.substr(0, at_));
    array.name = word("the name of an array", "_.");
    expect("[", "\"[\" after the name of an array");
    if (!take("]")) {
      do {
        dim(array);
      } while (take(","));
      expect("]", "\",\" or \"]\" after a dim");
    }
    if (take("{")) owed(array.sharding);
    return array;
  }

  void end(const char* legal) {
    skip_space();
    if (at_ < text_.size()) fail(at_, fmt::format("expected {} here", legal));
  }

 private:
  void dim(ParsedArray& array) {
    skip_space();
    const std::size_t begin = at_;
    const std::string name = word("the name of a dim", "");
    if (std::find(array.dims.begin(), array.dims.end(), name) != array.dims.end()) {
      fail(begin, fmt::format("dim {} is given twice in array {}", name, array.name));
    }
    array.dims.push_back(name);
    array.sharding.dims.push_back(take("_") ? axes() : Axes{});
  }

  void owed(Sharding& sharding) {
    skip_space();
    const std::size_t begin = at_;
    const std::string kind = is_letter(peek()) ? word("U or Max", "") : "";
    if (kind != "U" && kind != "Max") fail(begin, "expected U_ or Max_ and the axes owed on, as in {U_X}");
    sharding.reduce = kind == "U" ? ReduceOp::sum : ReduceOp::max;
    expect("_", "\"_\" and the axes owed on");
    sharding.unreduced = axes();
    expect("}", "\"}\" after the axes owed on");
  }

  Axes axes() {
    Axes axes;
    if (take("{")) {
      do {
        skip_space();
        const std::size_t begin = at_;
        add(axes, word("the name of an axis", "_"), begin);
      } while (take(","));
      expect("}", "\",\" or \"}\" after the name of an axis");
      return axes;
    }
    skip_space();
    if (!is_letter(peek())) fail(at_, "expected the letters of axes, or names in braces, as in I_XY or I_{data,model}");
    for (; is_letter_or_digit(peek()); ++at_) {
      if (!is_letter(peek())) fail(at_, "a bare axis is one letter; other names go in braces, as in I_{X1}");
      add(axes, std::string(1, peek()), at_);
    }
    return axes;
  }

  void add(Axes& axes, std::string axis, std::size_t begin) const {
    if (contains(axes, axis)) {
      fail(begin,
           fmt::format("axis {} is given twice; a name of several letters goes in braces, as in I_{{data}}", axis));
    }
    axes.push_back(std::move(axis));
  }

  /// A letter, then letters, digits and any of `more`.
  std::string word(const char* what, std::string_view more) {
    skip_space();
    if (!is_letter(peek())) fail(at_, fmt::format("expected {} here", what));
    const std::size_t begin = at_;
    while (is_letter_or_digit(peek()) || (peek() != '\0' && more.find(peek()) != std::string_view::npos)) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token, const char* what) {
    if (!take(token)) fail(at_, fmt::format("expected {} here", what));
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    while (is_space(peek())) ++at_;
  }

  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    std::string shown(text_);
    std::replace_if(shown.begin(), shown.end(), is_space, ' ');
    usage_error("{}\n  {}\n  {}^", what, shown, std::string(characters(text_.substr(0, at)), ' '));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void resolve(Axes& axes, const AbstractMesh& mesh) {
  for (Axis& axis : axes) {
    Axis upper = axis;
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
    if (!mesh.has(axis) && mesh.has(upper)) axis = std::move(upper);
  }
}

}  // namespace

ParsedArray parse_array(const std::string& text) {
  Parser parser(text);
  ParsedArray array = parser.array();
  parser.end("the end of the array");
  return array;
}

ParsedProduct parse_product(const std::string& text) {
  Parser parser(text);
  ParsedProduct product = parser.product();
  parser.end(product.result ? "the end of the product" : "\"*\" and another array, \"->\" and the result, or the end");
  return product;
}

ParsedArray resolve(ParsedArray array, const AbstractMesh& mesh) {
  for (Axes& axes : array.sharding.dims) resolve(axes, mesh);
  resolve(array.sharding.unreduced, mesh);
  array.sharding = validated(std::move(array.sharding), array.name, array.dims, mesh);
  return array;
}

}  // namespace shardline
