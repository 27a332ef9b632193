#pragma once

#include <string>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline::tools {

/// A positive number of `things` such as "64M": suffixes K, M and G, capital or not and perhaps with an i, are powers
/// of 1024; of bytes there are also "B" and "KiB". `option` ("--bytes") is named in the UsageError that anything else
/// throws. "64KB" is refused by a line that offers 64K, since to some it means 64000 bytes.
Index parse_size(const std::string& option, const std::string& text, const std::string& things = "bytes");

/// The sizes MIN, MIN * FACTOR, ... up to MAX of "MIN:MAX:FACTOR" (factor 4 unless given; MIN alone is one size), each
/// in elements of `element_size` bytes, rounded up, and none twice. Throws UsageError on anything else.
std::vector<Index> parse_byte_range(const std::string& text, Index element_size);

/// The same for sizes given as nccl-tests takes them: -b MIN -e MAX -f FACTOR.
std::vector<Index> sizes_between(const std::string& least, const std::string& most, const std::string& factor,
                                 Index element_size);

/// A number of bytes as parse_size() takes it: "64M", "1000".
std::string binary_size(Index bytes);

/// The number of --iters. Throws UsageError on anything but a whole number from 1 to 1000000.
Index parse_runs(const std::string& text);

/// The numbers of "1,7,4096", zero included. Throws UsageError on anything else.
std::vector<Index> parse_counts(const std::string& text);

}  // namespace shardline::tools
