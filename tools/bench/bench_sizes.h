#pragma once

#include <string>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline::tools {

/// A positive number of `things`, such as "64M". The suffixes K, M and G, in any case and perhaps
/// with an i, are powers of 1024. Bytes may also have "B" and "KiB". Any other text throws
/// UsageError with the name of `option` ("--bytes"). "64KB" is refused with the advice 64K, because
/// some read it as 64000 bytes.
Index parse_size(const std::string& option, const std::string& text, const std::string& things = "bytes");

/// The sizes MIN, MIN * FACTOR, ... up to MAX of "MIN:MAX:FACTOR". FACTOR is 4 if not given; MIN
/// alone is one size. Each is in elements of `element_size` bytes, rounded up, without repeats.
/// Throws UsageError for other text.
std::vector<Index> parse_byte_range(const std::string& text, Index element_size);

/// The same for sizes in the form of nccl-tests: -b MIN -e MAX -f FACTOR.
std::vector<Index> sizes_between(const std::string& least, const std::string& most, const std::string& factor,
                                 Index element_size);

/// A number of bytes in the form of parse_size(): "64M", "1000".
std::string binary_size(Index bytes);

/// The number of --iters. Throws UsageError unless it is a whole number from 1 to 1000000.
Index parse_runs(const std::string& text);

/// The numbers of "1,7,4096"; zero is legal. Throws UsageError for other text.
std::vector<Index> parse_counts(const std::string& text);

}  // namespace shardline::tools
