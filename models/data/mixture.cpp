#include "models/data/mixture.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "runtime/base/check.h"
#include "runtime/base/lists.h"
#include "runtime/base/number.h"
#include "runtime/base/permutation.h"

namespace shardline {
namespace {

constexpr std::size_t kMostDigits = 6;

std::vector<Index> without_common_divisor(std::vector<Index> weights) {
  Index divisor = 0;
  for (const Index weight : weights) divisor = std::gcd(divisor, weight);
  for (Index& weight : weights) weight /= divisor;
  return weights;
}

/// The source of sample `n`, which counts from 1. `taken` counts the samples of each source before. A source may come
/// if its count is late enough by then; of these the one comes that must come soonest. With k sources, "late" and
/// "must" leave 1/(2k-2) of a sample. All numbers are multiplied by 2k-2, and by the period where they are times.
std::size_t next_source(const std::vector<Index>& weights, Index period, const std::vector<Index>& taken, Index n) {
  const auto slack = static_cast<Index>(2 * weights.size() - 2);
  std::optional<std::size_t> soonest;
  const auto must = [&](std::size_t j) { return slack * (taken[j] + 1) - 1; };  // over weights[j]: when
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const bool may = slack * (n * weights[j] - taken[j] * period) >= period;
    if (may && (!soonest || must(j) * weights[*soonest] < must(*soonest) * weights[j])) soonest = j;
  }
  SHARDLINE_CHECK(soonest.has_value(), "no source for sample {} of a mixture", n);
  return *soonest;
}

/// "0.75" as 750000 millionths. Nothing for other text.
std::optional<Index> millionths(const std::string& text) {
  const auto [whole, part] = cut_once(text, '.');
  std::string digits = part.value_or("");
  if (digits.size() > kMostDigits || whole.size() > kMostDigits || whole.size() + digits.size() == 0) return {};
  digits.resize(kMostDigits, '0');
  const std::string all = whole + digits;
  if (all.find_first_not_of("0123456789") != std::string::npos) return {};
  return whole_number<Index>(all);
}

}  // namespace

Mixture::Mixture(std::vector<Index> weights) : weights_(without_common_divisor(std::move(weights))) {
  SHARDLINE_CHECK(!weights_.empty() && *std::min_element(weights_.begin(), weights_.end()) > 0,
                  "a mixture of {} sources, or a weight that is not positive", weights_.size());
  for (const Index weight : weights_) {
    period_ += weight;
    require(period_ <= kMostPeriod,
            "weights that add up to {} or more in whole numbers without common divisor; at most {}: give fewer digits",
            period_, kMostPeriod);
  }
  std::vector<Index> taken(weights_.size(), 0);
  for (Index n = 1; n <= period_; ++n) {
    const std::size_t source = weights_.size() == 1 ? 0 : next_source(weights_, period_, taken, n);
    sources_.push_back(static_cast<std::uint32_t>(source));
    samples_.push_back(static_cast<std::uint32_t>(taken[source]++));
  }
}

Mixture::Place Mixture::at(Index i) const {
  SHARDLINE_CHECK(i >= 0, "sample {} of a mixture", i);
  const auto at = static_cast<std::size_t>(i % period_);
  const std::size_t source = sources_[at];
  return {source, i / period_ * weights_[source] + samples_[at]};
}

std::vector<Index> whole_weights(const std::string& text, const std::string& option) {
  std::vector<Index> weights;
  for (const std::string& item : split(text, ',')) {
    const std::optional<Index> weight = millionths(item);
    require(weight && *weight > 0,
            "{} {}: \"{}\" is no weight; positive numbers of at most {} digits after the point are, as in 0.7,0.3",
            option, text, item, kMostDigits);
    weights.push_back(*weight);
  }
  return weights;
}

Index shuffled_in_epochs(Index i, Index size, std::uint64_t seed, std::string_view name) {
  return Permutation(size, seed, fmt::format("epoch {} of {}", i / size, name)).at(i % size);
}

}  // namespace shardline
