#pragma once

#include <string>
#include <vector>

namespace shardline::tools {

/// A file that a command writes.
struct OutputFile {
  const char* option;   ///< by which it was asked for: "--json"
  const char* content;  ///< "record"
  std::string path;     ///< empty for none
};

/// Throws UsageError that names both options where two of `files` are the same file, as WholeFile does where one
/// cannot be written, and where the name of one ends as those of another format do: --plot p.png.
void require_writable(const std::vector<OutputFile>& files);

/// Throws UsageError where one of `files` is also one that the command reads.
void refuse_inputs(const std::vector<OutputFile>& inputs, const std::vector<OutputFile>& files);

}  // namespace shardline::tools
