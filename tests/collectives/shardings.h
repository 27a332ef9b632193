#pragma once

#include <vector>

#include "runtime/layout/sharding.h"

namespace shardline::collectives {

/// Every sharding of an array of `dims` dims over some of `axes`, without unreduced axes. Each axis shards one
/// dim or none, in every order within a dim.
inline std::vector<Sharding> all_shardings(std::size_t dims, const Axes& axes) {
  std::vector<Sharding> all{Sharding::replicated(dims)};
  for (const Axis& axis : axes) {
    std::vector<Sharding> more = all;
    for (const Sharding& sharding : all) {
      for (std::size_t d = 0; d < dims; ++d) {
        for (std::size_t place = 0; place <= sharding.dims[d].size(); ++place) {
          Sharding with = sharding;
          with.dims[d].insert(with.dims[d].begin() + static_cast<std::ptrdiff_t>(place), axis);
          more.push_back(std::move(with));
        }
      }
    }
    all = std::move(more);
  }
  return all;
}

}  // namespace shardline::collectives
