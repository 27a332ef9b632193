#include "runtime/layout/notation.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "runtime/base/check.h"

namespace shardline {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Counts characters, not bytes, of UTF-8 text.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// Spaces in LaTeX and in typeset text.
constexpr std::array kSpaces = {"\\,", "\\;", "\\:", "\\!",    "\\ ",    "\\quad", "\\\\",
                                "&",   "~",   "$",   "\u00A0", "\u2009", "\u202F"};
/// Decoration around a name: `\mathbf{A}`, `**A**`.
struct Style {
  const char* begin;
  const char* end;
};
constexpr std::array kStyles = {Style{"\\text{", "}"},   Style{"\\textbf{", "}"},       Style{"\\mathbf{", "}"},
                                Style{"\\mathrm{", "}"}, Style{"\\mathit{", "}"},       Style{"\\boldsymbol{", "}"},
                                Style{"\\bm{", "}"},     Style{"\\operatorname{", "}"}, Style{"**", "**"}};
constexpr std::array kTimes = {"*", "@", "·", "⋅", "×", "•", "\\cdot", "\\times", "\\ast"};
constexpr std::array kArrows = {"->",           "=>",        "→",   "⟶", "⇒", "\\rightarrow", "\\longrightarrow",
                                "\\Rightarrow", "\\implies", "\\to"};
constexpr std::array kOpen = {"(", "\\left("};
constexpr std::array kClose = {")", "\\right)"};
constexpr std::array kOpenDims = {"[", "\\left["};
constexpr std::array kCloseDims = {"]", "\\right]"};
constexpr const char* kLocal = "LOCAL";

/// Recursive descent over the grammar of docs/notation.md: one function per rule. Every token skips
/// the space before it.
class Parser {
 public:
  explicit Parser(std::string text) : owned_(with_braces(std::move(text))), text_(owned_) {}

  ParsedProduct product() {
    ParsedProduct product = expression();
    const bool one_array = product.operands.size() == 1 && !product.collective;
    if (take_any(kArrows) || (!one_array && take("="))) {
      product.result = array(Name::optional);
    } else if (one_array && take("=")) {
      const ParsedArray result = product.operands[0];
      product = expression();
      product.result = result;
    }
    name_arrays(product);
    return product;
  }

  ParsedArray array() { return array(Name::required); }

  void end(const char* legal) {
    skip_space();
    if (at_ < text_.size()) fail(at_, fmt::format("expected {} here", legal));
  }

 private:
  enum class Name : std::uint8_t { required, optional };

  /// Rewrites subscripts of web pages, "I<sub>X</sub>", as LaTeX: "I_{X}".
  static std::string with_braces(std::string text) {
    for (const auto& [tag, brace] : {std::pair<std::string, std::string>{"<sub>", "_{"}, {"</sub>", "}"}}) {
      for (std::size_t at = text.find(tag); at != std::string::npos; at = text.find(tag)) {
        text.replace(at, tag.size(), brace);
      }
    }
    return text;
  }

  ParsedProduct expression() {
    ParsedProduct product;
    product.collective = collective();
    const bool bracket = product.collective && take_any(kOpen);
    const std::size_t first = at_;
    product.operands.push_back(array(Name::optional));
    if (product.collective) {
      if (bracket && !take_any(kClose)) fail(at_, "expected \")\" after the array here");
      if (take("over wire")) product.collective->wire = word("the name of a wire", "");
      return product;
    }
    while (take_any(kTimes)) {
      if (product.operands[0].name.empty()) at_ = first, array(Name::required);
      product.times.push_back(subscript_of_times());
      product.operands.push_back(array(Name::required));
    }
    return product;
  }

  /// The name and subscript of a collective. If an array stands here, returns nothing and consumes
  /// nothing.
  std::optional<ParsedCollective> collective() {
    skip_space();
    const std::size_t begin = at_;
    if (!starts_name()) return std::nullopt;
    ParsedCollective collective{.name = styled("the name of an array", "")};
    const std::vector<std::string>& names = collective_names();
    if (std::find(names.begin(), names.end(), collective.name) != names.end()) {
      if (take("_")) collective.subscript = list("axis");
      const bool colon = take(":");
      skip_space();
      if (colon || !collective.subscript.empty() || !starts_dims()) return collective;
    }
    at_ = begin;
    return std::nullopt;
  }

  ParsedTimes subscript_of_times() {
    ParsedTimes times;
    if (!take("_")) return times;
    times.local = take(kLocal);
    if (times.local) return times;
    times.summed = list("dim");
    times.local = times.summed == std::vector<std::string>{kLocal};
    if (times.local) times.summed.clear();
    return times;
  }

  ParsedArray array(Name name) {
    ParsedArray array;
    skip_space();
    array.column = characters(text_.substr(0, at_));
    if (name == Name::required || !starts_dims()) array.name = name_of_array();
    if (!take_any(kOpenDims)) fail(at_, "expected \"[\" after the name of an array here");
    if (!take_any(kCloseDims)) {
      do {
        dim(array);
      } while (take(","));
      if (!take_any(kCloseDims)) fail(at_, "expected \",\" or \"]\" after a dim here");
    }
    if (take("{") || take("\\{")) owed(array.sharding);
    return array;
  }

  /// `W_in`, `\mathbf{W}_{in}`, `A'`.
  std::string name_of_array() {
    std::string name = styled("the name of an array", "_.'");
    if (name.back() == '_' && take("{")) {
      skip_space();
      if (!is_letter_or_digit(peek())) fail(at_, "expected the rest of the name here");
      name += rest("_");
      expect("}", "\"}\" after the rest of the name");
    }
    return name;
  }

  /// An array that is only moved keeps its name. So the text may give the name once or not at all.
  static void name_arrays(ParsedProduct& product) {
    ParsedArray& operand = product.operands[0];
    if (operand.name.empty() && product.result) operand.name = product.result->name;
    if (operand.name.empty()) operand.name = "A";
    if (product.result && product.result->name.empty()) product.result->name = operand.name;
  }

  void dim(ParsedArray& array) {
    skip_space();
    const std::size_t begin = at_;
    const std::string name = word("the name of a dim", "");
    if (std::find(array.dims.begin(), array.dims.end(), name) != array.dims.end()) {
      fail(begin, fmt::format("dim {} is given twice in array {}", name, array.name));
    }
    array.dims.push_back(name);
    array.sharding.dims.push_back(take("_") ? list("axis") : Axes{});
  }

  void owed(Sharding& sharding) {
    skip_space();
    const std::size_t begin = at_;
    const std::string kind = is_letter(peek()) ? word("U or Max", "") : "";
    if (kind != "U" && kind != "Max") fail(begin, "expected U_ or Max_ and the axes owed on, as in {U_X}");
    sharding.reduce = kind == "U" ? ReduceOp::sum : ReduceOp::max;
    expect("_", "\"_\" and the axes owed on");
    sharding.unreduced = list("axis");
    if (!take("\\}")) expect("}", "\"}\" after the axes owed on");
  }

  /// A subscript: one-letter names, or any names in braces. `noun` is "axis" or "dim".
  std::vector<std::string> list(const std::string& noun) {
    std::vector<std::string> names;
    if (take("{")) {
      do {
        skip_space();
        const std::size_t begin = at_;
        add(names, styled(fmt::format("the name of {}", with_article(noun)), "_"), begin, noun);
      } while (take(",") || starts_name());
      expect("}", fmt::format("\",\" or \"}}\" after the name of {}", with_article(noun)));
      return names;
    }
    skip_space();
    if (!is_letter(peek()) && starts_name()) {  // \text{X}
      const std::size_t begin = at_;
      add(names, styled(fmt::format("the name of {}", with_article(noun)), "_"), begin, noun);
      return names;
    }
    const bool axes = noun == "axis";
    if (!is_letter(peek())) {
      fail(at_, axes ? "expected the letters of axes, or names in braces, as in I_XY or I_{data,model}"
                     : "expected the letters of dims, or names in braces, as in *_JK or *_{heads,J}");
    }
    for (; is_letter_or_digit(peek()); ++at_) {
      if (!is_letter(peek())) {
        fail(at_, fmt::format("a bare {} is one letter; other names go in braces, as in {}", noun,
                              axes ? "I_{X1}" : "*_{J1}"));
      }
      add(names, std::string(1, peek()), at_, noun);
    }
    return names;
  }

  void add(std::vector<std::string>& names, std::string name, std::size_t begin, const std::string& noun) const {
    if (contains(names, name)) {
      fail(begin, fmt::format("{} {} is given twice; a name of several letters goes in braces, as in {}", noun, name,
                              noun == "axis" ? "I_{data}" : "*_{heads}"));
    }
    names.push_back(std::move(name));
  }

  static std::string with_article(const std::string& noun) { return (noun == "axis" ? "an " : "a ") + noun; }

  /// A word, perhaps in bold or in a LaTeX text style.
  std::string styled(const std::string& what, std::string_view more) {
    for (const Style& style : kStyles) {
      if (!take(style.begin)) continue;
      std::string name = word(what, more);
      expect(style.end, fmt::format("\"{}\" after {}", style.end, name));
      // Subscripts of the name follow the style: \mathbf{W}_{in}.
      return more.empty() || peek() != '_' ? name : name + rest(more);
    }
    return word(what, more);
  }

  /// A letter, then letters, digits and any of `more`.
  std::string word(const std::string& what, std::string_view more) {
    skip_space();
    if (!is_letter(peek())) fail(at_, fmt::format("expected {} here", what));
    return rest(more);
  }

  std::string rest(std::string_view more) {
    const std::size_t begin = at_;
    while (is_letter_or_digit(peek()) || (peek() != '\0' && more.find(peek()) != std::string_view::npos)) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  /// True if a name begins here, in any style.
  bool starts_name() const {
    return is_letter(peek()) ||
           std::any_of(kStyles.begin(), kStyles.end(), [&](const Style& style) { return is_next(style.begin); });
  }

  /// True if the dims of an array begin here.
  bool starts_dims() const {
    return std::any_of(kOpenDims.begin(), kOpenDims.end(), [&](const char* token) { return is_next(token); });
  }

  bool is_next(std::string_view token) const { return text_.substr(at_, token.size()) == token; }

  bool take(std::string_view token) {
    skip_space();
    if (!is_next(token)) return false;
    at_ += token.size();
    return true;
  }

  template <class Tokens>
  bool take_any(const Tokens& tokens) {
    return std::any_of(tokens.begin(), tokens.end(), [&](const char* token) { return take(token); });
  }

  void expect(std::string_view token, const std::string& what) {
    if (!take(token)) fail(at_, fmt::format("expected {} here", what));
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    for (bool more = true; more;) {
      more = false;
      while (is_space(peek())) ++at_;
      for (const std::string_view space : kSpaces) {
        if (!is_next(space)) continue;
        at_ += space.size();
        more = true;
      }
    }
  }

  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    std::string shown(text_);
    std::replace_if(shown.begin(), shown.end(), is_space, ' ');
    usage_error("{}\n  {}\n  {}^", what, shown, std::string(characters(text_.substr(0, at)), ' '));
  }

  std::string owned_;
  std::string_view text_;  ///< of owned_
  std::size_t at_ = 0;
};

/// The mesh axis for `written` as a whole name; empty if there is none.
Axis axis_named(const std::string& written, const AbstractMesh& mesh) {
  if (mesh.has(written)) return written;
  Axis upper = written;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
  return mesh.has(upper) ? upper : Axis();
}

std::string text_of(const ParsedArray& array) { return to_string(array.name, array.dims, array.sharding); }

}  // namespace

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names = {"AllGather", "ReduceScatter", "AllReduce", "AllReduceMax",
                                                 "AllToAll",  "Reshard",       "Slice",     "Owe"};
  return names;
}

ParsedArray parse_array(const std::string& text) {
  Parser parser(text);
  ParsedArray array = parser.array();
  parser.end("the end of the array");
  return array;
}

ParsedProduct parse_product(const std::string& text) {
  Parser parser(text);
  ParsedProduct product = parser.product();
  parser.end(product.result       ? "the end of the product"
             : product.collective ? "\"->\" and the result, or the end"
                                  : "\"*\" and another array, \"->\" and the result, or the end");
  return product;
}

std::string to_string(const ParsedProduct& product) {
  std::string text = product.result ? text_of(*product.result) + " = " : "";
  if (product.collective) {
    const auto& [name, subscript, wire] = *product.collective;
    return fmt::format("{}{}{}({}){}", text, name, subscript.empty() ? "" : "_" + to_string(subscript),
                       text_of(product.operands[0]), wire.empty() ? "" : " over wire " + wire);
  }
  for (std::size_t i = 0; i < product.operands.size(); ++i) {
    if (i > 0) {
      const ParsedTimes times = i <= product.times.size() ? product.times[i - 1] : ParsedTimes{};
      text += times.local            ? fmt::format(" *_{} ", kLocal)
              : times.summed.empty() ? " * "
                                     : fmt::format(" *_{} ", to_string(times.summed));
    }
    text += text_of(product.operands[i]);
  }
  return text;
}

Axes resolve(const Axes& axes, const AbstractMesh& mesh) {
  Axes resolved;
  for (const Axis& written : axes) {
    if (const Axis axis = axis_named(written, mesh); !axis.empty()) {
      resolved.push_back(axis);
      continue;
    }
    Axes letters;
    for (const char letter : written) letters.push_back(axis_named(std::string(1, letter), mesh));
    if (contains(letters, "")) letters = {written};
    resolved.insert(resolved.end(), letters.begin(), letters.end());
  }
  return resolved;
}

ParsedArray resolve(ParsedArray array, const AbstractMesh& mesh) {
  for (Axes& axes : array.sharding.dims) axes = resolve(axes, mesh);
  array.sharding.unreduced = resolve(array.sharding.unreduced, mesh);
  array.sharding = validated(std::move(array.sharding), array.name, array.dims, mesh);
  return array;
}

}  // namespace shardline
