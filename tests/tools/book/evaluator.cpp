#include "tests/tools/book/evaluator.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>

namespace shardline {
namespace {

/// Recursive descent: sum of products of powers.
class Evaluator {
 public:
  explicit Evaluator(const std::string& text) : text_(text) {}

  double all() {
    const double value = sum();
    if (peek() != '\0') fail();
    return value;
  }

 private:
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!take(c)) fail();
  }

  [[noreturn]] void fail() const {
    throw std::runtime_error(text_ + ": not understood from character " + std::to_string(at_));
  }

  double sum() {
    double value = product();
    while (true) {
      if (take('+')) {
        value += product();
      } else if (take('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = power();
    while (true) {
      if (take('*')) {
        value *= power();
      } else if (take('/')) {
        value /= power();
      } else {
        return value;
      }
    }
  }

  double power() {
    const double base = atom();
    return take('^') ? std::pow(base, power()) : base;
  }

  double atom() {
    if (take('(')) {
      const double value = sum();
      expect(')');
      return value;
    }
    if (std::isalpha(static_cast<unsigned char>(peek())) != 0) return call();
    if (std::isdigit(static_cast<unsigned char>(peek())) == 0) fail();
    std::size_t length = 0;
    const double value = std::stod(text_.substr(at_), &length);
    at_ += length;
    return value;
  }

  double call() {
    std::string name;
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0) name += text_[at_++];
    expect('(');
    const double first = sum();
    if (name == "max" || name == "min") {
      expect(',');
      const double second = sum();
      expect(')');
      return name == "max" ? std::max(first, second) : std::min(first, second);
    }
    expect(')');
    if (name == "sqrt") return std::sqrt(first);
    if (name == "log2") return std::log2(first);
    if (name == "round") return std::round(first);
    if (name == "ceil") return std::ceil(first);
    if (name == "floor") return std::floor(first);
    fail();
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

double evaluate(const std::string& expression) { return Evaluator(expression).all(); }

}  // namespace shardline
