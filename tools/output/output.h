#pragma once

#include <string>

namespace shardline::tools {

/// A file path for standard output. "./-" is a file of that name.
inline constexpr const char* kStandardOutput = "-";

/// Called first in main. Opens standard streams that the caller closed, in a way that makes reads
/// and writes fail. Otherwise the next opened file would take the number, and printed text would go
/// into that file.
void hold_standard_streams();

/// From now on print() writes to standard error, because standard output carries a file.
void keep_standard_output_for_a_file();

/// Prints results for people to standard output, and flushes.
void print(const std::string& text);

/// Prints the line "shardline: `text`" to standard error, for progress and remarks. They are not
/// results.
void note(const std::string& text);

/// Writes `text` to the file as a whole. An empty path means no file. A failure is noted and
/// remembered, so later files are still written.
void write_output(const std::string& path, const std::string& text);

/// True if all output so far has arrived. Notes a failed stream once.
bool all_is_written();

}  // namespace shardline::tools
