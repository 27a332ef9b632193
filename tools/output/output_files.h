#pragma once

#include <string>
#include <vector>

namespace shardline::tools {

/// A file that a command reads or writes.
struct NamedFile {
  std::string option;   ///< the option that names it: "--json"
  std::string content;  ///< "record"
  std::string path;     ///< empty for none
};

/// The files of a command, known before it does anything.
struct CommandFiles {
  std::vector<NamedFile> inputs = {};
  std::vector<NamedFile> input_folders = {};  ///< nothing may be written into these
  std::vector<NamedFile> outputs = {};        ///< "-" is standard output
  /// Perhaps written later, so they are not tried before. "-" is a normal name here.
  std::vector<NamedFile> more_outputs = {};
};

/// Throws UsageError, before it touches any file, if an output is an input, lies in an input
/// folder, is another output or the file of standard output, or has the ending of another format:
/// --plot p.png. Two paths to one file count as the same. Then throws as WholeFile does if one of
/// `outputs` cannot be written. If one of them is "-", text goes to standard error from here on. In
/// a job only rank 0 calls this.
void check_files(const CommandFiles& files);

}  // namespace shardline::tools
