#pragma once

#include <string>

namespace shardline::tools {

/// As the path of a file that a command writes: standard output. A file of that name is "./-".
inline constexpr const char* kStandardOutput = "-";

/// Called first in main. A standard stream that the caller closed is opened so that reading or writing it fails;
/// otherwise the next file that is opened would take its number, and what is printed would go into that file.
void hold_standard_streams();

/// From now on print() goes to standard error: standard output carries a file.
void keep_standard_output_for_a_file();

/// Prints results, for people, to standard output, and flushes.
void print(const std::string& text);

/// Prints the line "shardline: `text`" to standard error: progress and remarks, which are no results.
void note(const std::string& text);

/// Writes `text` to the file, whole; an empty path stands for no file. What cannot be written is noted and remembered,
/// so that the files that are still to be written are not lost with it.
void write_output(const std::string& path, const std::string& text);

/// True when everything printed and written so far has arrived. A stream that cannot be written is noted here, once.
bool all_is_written();

}  // namespace shardline::tools
