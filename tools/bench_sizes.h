#pragma once

#include <string>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline::tools {

/// A positive number of `things` such as "64M": suffixes K, M and G are powers of 1024. `option` ("--bytes") is named
/// in the UsageError that anything else throws.
Index parse_size(const std::string& option, const std::string& text, const std::string& things = "bytes");

/// The sizes MIN, MIN * FACTOR, ... up to MAX of "MIN:MAX:FACTOR" (factor 4 unless given; MIN alone is one size), each
/// in elements of `element_size` bytes, rounded up, and none twice. Throws UsageError on anything else.
std::vector<Index> parse_byte_range(const std::string& text, Index element_size);

/// A number of bytes as parse_size() takes it: "64M", "1000".
std::string binary_size(Index bytes);

/// The numbers of "1,7,4096", zero included. Throws UsageError on anything else.
std::vector<Index> parse_counts(const std::string& text);

}  // namespace shardline::tools
