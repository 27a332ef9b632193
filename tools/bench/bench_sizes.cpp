#include "tools/bench/bench_sizes.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "runtime/base/check.h"
#include "runtime/base/lists.h"
#include "runtime/base/number.h"

namespace shardline::tools {
namespace {

constexpr Index kMost = std::numeric_limits<Index>::max();
constexpr const char* kFactor = "4";

/// The text after the digits of a size.
struct Suffix {
  Index unit = 1;
  bool legal = true;
  bool ambiguous = false;  ///< "KB": powers of 1000 for some, of 1024 for others
};

/// "", "K", "k", "Ki"; for bytes also "B" and "KiB". The same with M and G.
Suffix suffix_of(std::string_view text, bool bytes) {
  Suffix suffix;
  const std::size_t prefix = text.empty() ? std::string_view::npos : std::string_view("kKmMgG").find(text[0]);
  if (prefix == std::string_view::npos) return {.legal = text.empty() || (bytes && text == "B")};
  suffix.unit = Index{1} << (10 * (prefix / 2 + 1));
  const std::string_view rest = text.substr(1);
  suffix.ambiguous = bytes && rest == "B";
  suffix.legal = rest.empty() || rest == "i" || (bytes && (rest == "iB" || rest == "ib"));
  return suffix;
}

/// MIN, MAX and FACTOR of a range as given.
struct RangeText {
  std::string given;  ///< the whole text, with its options
  std::string least;
  std::string most;
  std::string factor;
};

std::vector<Index> sizes_of(const RangeText& range, Index element_size) {
  const Index least = parse_size(range.given, range.least);
  const Index most = parse_size(range.given, range.most);
  const Index factor = whole_number<Index>(range.factor).value_or(0);
  require(least <= most, "{}: the smallest size, {}, is above the largest, {}", range.given, range.least, range.most);
  require(factor >= 2, "{}: factor {}: sizes grow by a whole factor of at least 2", range.given, range.factor);
  std::vector<Index> counts;
  for (Index bytes = least;; bytes *= factor) {
    const Index count = (bytes - 1) / element_size + 1;
    if (counts.empty() || counts.back() != count) counts.push_back(count);
    if (bytes > most / factor) return counts;
  }
}

}  // namespace

Index parse_size(const std::string& option, const std::string& text, const std::string& things) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<Index> number = whole_number<Index>(text.substr(0, digits));
  const Suffix suffix = suffix_of(std::string_view(text).substr(digits), things == "bytes");
  require(!number || !suffix.ambiguous, "{}: \"{}\" may mean powers of 1000 or of 1024; {} is in powers of 1024",
          option, text, text.substr(0, text.size() - 1));
  require(number && suffix.legal && *number >= 1 && *number <= kMost / suffix.unit,
          "{}: \"{}\" is not a size: a whole number of {}, at least 1, or of K, M or G (1024, 1024^2, 1024^3)", option,
          text, things);
  return *number * suffix.unit;
}

std::vector<Index> parse_byte_range(const std::string& text, Index element_size) {
  const std::vector<std::string> parts = split(text, ':');
  require(parts.size() <= 3, "--bytes {}: MIN, MIN:MAX or MIN:MAX:FACTOR, as in 1K:64M:4", text);
  return sizes_of({.given = "--bytes " + text,
                   .least = parts[0],
                   .most = parts.size() > 1 ? parts[1] : parts[0],
                   .factor = parts.size() > 2 ? parts[2] : kFactor},
                  element_size);
}

std::vector<Index> sizes_between(const std::string& least, const std::string& most, const std::string& factor,
                                 Index element_size) {
  return sizes_of(
      {.given = fmt::format("-b {} -e {} -f {}", least, most, factor), .least = least, .most = most, .factor = factor},
      element_size);
}

Index parse_runs(const std::string& text) {
  constexpr Index kMostRuns = 1000000;
  const std::optional<Index> runs = whole_number<Index>(text);
  require(runs && *runs >= 1 && *runs <= kMostRuns, "--iters {}: a whole number from 1 to {}", text, kMostRuns);
  return *runs;
}

std::string binary_size(Index bytes) {
  for (const char suffix : {'G', 'M', 'K'}) {
    const Index unit = suffix_of({&suffix, 1}, true).unit;
    if (bytes >= unit && bytes % unit == 0) return fmt::format("{}{}", bytes / unit, suffix);
  }
  return fmt::format("{}", bytes);
}

std::vector<Index> parse_counts(const std::string& text) {
  std::vector<Index> counts;
  for (const std::string& part : split(text, ',')) {
    const std::optional<Index> count = whole_number<Index>(part);
    require(count && *count >= 0, "--counts {}: \"{}\" is not a number of elements: whole, 0 or more, as in 1,7,4096",
            text, part);
    counts.push_back(*count);
  }
  return counts;
}

}  // namespace shardline::tools
