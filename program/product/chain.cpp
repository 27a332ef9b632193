#include "program/product/chain.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "runtime/base/check.h"

namespace shardline {
namespace {

bool has(const DimNames& dims, const std::string& dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

class Reading {
 public:
  Reading(const std::vector<DimNames>& operands, const DimNames& result) : operands_(operands), result_(result) {}

  /// The dims of the products from operand `number` on, if the left factor has the dims `left`.
  /// Nothing if `must_sum` and some product sums over no dim.
  std::optional<std::vector<DimNames>> from(std::size_t number, const DimNames& left, bool must_sum) {
    if (!must_sum) return read(number, left, false);
    const std::pair state(number, std::set<std::string>(left.begin(), left.end()));
    if (dead_ends_.contains(state)) return std::nullopt;
    std::optional<std::vector<DimNames>> reading = read(number, left, true);
    if (!reading) dead_ends_.insert(state);
    return reading;
  }

 private:
  /// from(), by trying the choices.
  std::optional<std::vector<DimNames>> read(std::size_t number, const DimNames& left, bool must_sum) {
    const DimNames& right = operands_[number];
    DimNames shared;
    std::copy_if(left.begin(), left.end(), std::back_inserter(shared), [&](const auto& d) { return has(right, d); });
    const bool sums = std::any_of(shared.begin(), shared.end(), [&](const auto& d) { return !needed(d, number); });
    if (number + 1 == operands_.size()) {
      if (must_sum && (!sums || !brings_all(left, right))) return std::nullopt;
      return std::vector<DimNames>{result_};
    }
    if (!sums) {
      if (auto renewed = renewing(number, left, shared)) return renewed;
      if (must_sum) return std::nullopt;
    }
    return with(number, kept(number, left, {}), must_sum);
  }

  bool later(const std::string& dim, std::size_t number) const {
    return std::any_of(operands_.begin() + static_cast<std::ptrdiff_t>(number) + 1, operands_.end(),
                       [&](const DimNames& dims) { return has(dims, dim); });
  }

  bool needed(const std::string& dim, std::size_t number) const { return has(result_, dim) || later(dim, number); }

  /// The factors of the last product have every dim of the result. It sums only over dims of both.
  bool brings_all(const DimNames& left, const DimNames& right) const {
    const auto placed = [&](const DimNames& dims, const DimNames& other) {
      return std::all_of(dims.begin(), dims.end(), [&](const auto& d) { return has(result_, d) || has(other, d); });
    };
    return placed(left, right) && placed(right, left) &&
           std::all_of(result_.begin(), result_.end(), [&](const auto& d) { return has(left, d) || has(right, d); });
  }

  /// The dims after the product with operand `number`. It sums over `summed` and over dims that
  /// nothing needs.
  DimNames kept(std::size_t number, const DimNames& left, const DimNames& summed) const {
    DimNames dims;
    for (const DimNames* factor : {&left, &operands_[number]}) {
      for (const std::string& dim : *factor) {
        if (!has(dims, dim) && !has(summed, dim) && needed(dim, number)) dims.push_back(dim);
      }
    }
    return dims;
  }

  std::optional<std::vector<DimNames>> with(std::size_t number, const DimNames& made, bool must_sum) {
    std::optional<std::vector<DimNames>> rest = from(number + 1, made, must_sum);
    if (rest) rest->insert(rest->begin(), made);
    return rest;
  }

  /// The only reading in which the product sums over shared dims that a later operand brings again.
  std::optional<std::vector<DimNames>> renewing(std::size_t number, const DimNames& left, const DimNames& shared) {
    DimNames again;
    std::copy_if(shared.begin(), shared.end(), std::back_inserter(again),
                 [&](const auto& d) { return later(d, number); });
    constexpr std::size_t kMost = 8;
    require(again.size() <= kMost, "the chain has {} dims, {}, which a later operand has too; at most {} are taken",
            again.size(), fmt::join(again, ", "), kMost);
    std::optional<std::vector<DimNames>> found;
    for (std::size_t subset = 1; subset < std::size_t{1} << again.size(); ++subset) {
      DimNames summed;
      for (std::size_t i = 0; i < again.size(); ++i) {
        if ((subset >> i & 1U) != 0) summed.push_back(again[i]);
      }
      auto reading = with(number, kept(number, left, summed), true);
      if (!reading) continue;
      require(!found.has_value(),
              "the product [{}] * [{}] within the chain may sum over any of {}, which later operands have too; give "
              "dims that are not to be summed there together names of their own",
              fmt::join(left, ", "), fmt::join(operands_[number], ", "), fmt::join(again, ", "));
      found = std::move(reading);
    }
    return found;
  }

  const std::vector<DimNames>& operands_;
  const DimNames& result_;
  /// By operand and dims of the left factor: starting points where no reading sums in every
  /// product. Without this a chain of n elementwise products has exponentially many readings.
  std::set<std::pair<std::size_t, std::set<std::string>>> dead_ends_;
};

}  // namespace

std::vector<DimNames> chain_dims(const std::vector<DimNames>& operands, const DimNames& result) {
  return *Reading(operands, result).from(1, operands.at(0), false);
}

bool summed_in_chain(const std::vector<DimNames>& made, std::size_t operand, const std::string& dim) {
  const std::size_t first = operand == 0 ? 0 : operand - 1;
  return std::any_of(made.begin() + static_cast<std::ptrdiff_t>(first), made.end(),
                     [&](const DimNames& dims) { return !has(dims, dim); });
}

}  // namespace shardline
