#include "tools/bench_sizes.h"

#include <limits>
#include <optional>

#include "runtime/base/check.h"
#include "runtime/base/number.h"
#include "tools/text.h"

namespace shardline::tools {
namespace {

constexpr Index kMost = std::numeric_limits<Index>::max();

Index unit_of(char suffix) {
  return suffix == 'K' ? 1LL << 10 : suffix == 'M' ? 1LL << 20 : suffix == 'G' ? 1LL << 30 : 1;
}

}  // namespace

Index parse_size(const std::string& option, const std::string& text, const std::string& things) {
  const Index unit = text.empty() ? 1 : unit_of(text.back());
  const std::optional<Index> number = whole_number<Index>(unit == 1 ? text : text.substr(0, text.size() - 1));
  require(number && *number >= 1 && *number <= kMost / unit,
          "{}: \"{}\" is not a size: a whole number of {}, at least 1, or of K, M or G (1024, 1024^2, 1024^3)", option,
          text, things);
  return *number * unit;
}

std::vector<Index> parse_byte_range(const std::string& text, Index element_size) {
  const std::vector<std::string> parts = split(text, ':');
  require(parts.size() <= 3, "--bytes {}: MIN, MIN:MAX or MIN:MAX:FACTOR, as in 1K:64M:4", text);
  const std::string option = "--bytes " + text;
  const Index least = parse_size(option, parts[0]);
  const Index most = parts.size() > 1 ? parse_size(option, parts[1]) : least;
  const Index factor = parts.size() > 2 ? whole_number<Index>(parts[2]).value_or(0) : 4;
  if (least > most)
    usage_error("--bytes {}: the smallest size, {}, is above the largest, {}", text, parts[0], parts[1]);
  require(factor >= 2, "--bytes {}: factor {}: sizes grow by a whole factor of at least 2", text,
          parts.size() > 2 ? parts[2] : "4");
  std::vector<Index> counts;
  for (Index bytes = least;; bytes *= factor) {
    const Index count = (bytes - 1) / element_size + 1;
    if (counts.empty() || counts.back() != count) counts.push_back(count);
    if (bytes > most / factor) return counts;
  }
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
