#include "runtime/base/shape.h"

#include <fmt/ranges.h>

#include "runtime/base/check.h"

namespace shardline {

Index element_count(const Shape& shape) {
  Index count = 1;
  for (const Index extent : shape) {
    SHARDLINE_CHECK(extent >= 0, "extent {} in shape {} is negative", extent, to_string(shape));
    SHARDLINE_CHECK(!__builtin_mul_overflow(count, extent, &count), "shape {} has more elements than 63 bits count",
                    to_string(shape));
  }
  return count;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace shardline
