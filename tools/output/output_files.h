#pragma once

#include <string>
#include <vector>

namespace shardline::tools {

/// A file that a command reads or writes.
struct NamedFile {
  std::string option;   ///< by which it was named: "--json"
  std::string content;  ///< "record"
  std::string path;     ///< empty for none
};

/// The files of a command, named before it does anything.
struct CommandFiles {
  std::vector<NamedFile> inputs = {};
  std::vector<NamedFile> input_folders = {};  ///< in which nothing is written
  std::vector<NamedFile> outputs = {};        ///< "-" is standard output
  /// Written later if at all, so that nobody tries beforehand whether they can be; "-" is a name.
  std::vector<NamedFile> more_outputs = {};
};

/// Throws UsageError, before any file is touched, where an output is one of the inputs, lies in one of the input
/// folders, is another output or the file that standard output goes to, or has a name that ends as those of another
/// format do: --plot p.png. Files count as the same by whatever way they are reached. After that throws as WholeFile
/// does where one of `outputs` cannot be written. Where "-" is one of them, text goes to standard error from here on.
/// Of the ranks of a job, rank 0 calls this.
void check_files(const CommandFiles& files);

}  // namespace shardline::tools
