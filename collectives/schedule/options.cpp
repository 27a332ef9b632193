#include "collectives/schedule/options.h"

#include <fmt/ranges.h>

#include <vector>

#include "runtime/base/check.h"

namespace shardline::collectives {

std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"all_gather", "reduce_scatter", "all_reduce", "all_to_all",
                                                      "shift"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view name_of(Algorithm algorithm) {
  constexpr std::array<std::string_view, 7> kNames = {"auto",     "ring",   "bidirectional", "pairwise",
                                                      "doubling", "direct", "native"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

Algorithm algorithm_named(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Algorithm algorithm : kAlgorithms) {
    if (name == name_of(algorithm)) return algorithm;
    known.push_back(name_of(algorithm));
  }
  usage_error("there is no algorithm '{}'; there are {}", name, fmt::join(known, ", "));
}

std::string_view name_of(Wire wire) {
  constexpr std::array<std::string_view, 4> kNames = {"auto", "exchange", "f32", "hop"};
  return kNames.at(static_cast<std::size_t>(wire));
}

Wire wire_for(Wire asked, Algorithm algorithm, DType dtype) {
  if (dtype != DType::bf16) return Wire::automatic;
  const bool exchanges = algorithm == Algorithm::pairwise || algorithm == Algorithm::direct;
  if (asked == Wire::automatic) return exchanges ? Wire::exchange : Wire::f32;
  require(exchanges == (asked == Wire::exchange), "algorithm {} reduces bf16 over the wire{}, not {}",
          name_of(algorithm), exchanges ? " exchange" : "s f32 and hop", name_of(asked));
  return asked;
}

}  // namespace shardline::collectives
