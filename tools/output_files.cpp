#include "tools/output_files.h"

#include <filesystem>

#include "models/files.h"
#include "runtime/base/check.h"

namespace shardline::tools {
namespace {

/// Whatever way it is written. A path that cannot be followed stands for itself.
std::filesystem::path place_of(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path place =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, failure), failure);
  return failure ? std::filesystem::path(path) : place;
}

}  // namespace

void require_writable(const std::vector<OutputFile>& files) {
  for (auto file = files.begin(); file != files.end(); ++file) {
    if (file->path.empty()) continue;
    for (auto other = files.begin(); other != file; ++other) {
      require(other->path.empty() || place_of(other->path) != place_of(file->path), "{} {}: the {} of {} goes there",
              file->option, file->path, other->content, other->option);
    }
    const WholeFile probe(file->path);
  }
}

void refuse_inputs(const std::vector<OutputFile>& inputs, const std::vector<OutputFile>& files) {
  for (const OutputFile& file : files) {
    for (const OutputFile& input : inputs) {
      require(file.path.empty() || input.path.empty() || place_of(input.path) != place_of(file.path),
              "{} {}: the {} of {} is read from there", file.option, file.path, input.content, input.option);
    }
  }
}

}  // namespace shardline::tools
