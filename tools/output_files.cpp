#include "tools/output_files.h"

#include <algorithm>
#include <array>
#include <cctype>
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

/// A format that the end of a file's name stands for.
struct Format {
  const char* ending;
  const char* name;
};

constexpr std::array<Format, 9> kFormats{{{".json", "JSON"},
                                          {".csv", "CSV"},
                                          {".svg", "SVG"},
                                          {".html", "HTML"},
                                          {".htm", "HTML"},
                                          {".png", "PNG"},
                                          {".pdf", "PDF"},
                                          {".jpg", "JPEG"},
                                          {".gif", "GIF"}}};

/// The ending of what is written as `content`; a "machine" may be called anything.
std::string ending_of(const std::string& content) {
  if (content == "record" || content == "trace") return ".json";
  if (content == "table") return ".csv";
  if (content == "plot") return ".svg";
  return content == "page" ? ".html" : "";
}

const Format* format_of(std::string ending) {
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto* found =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& format) { return format.ending == ending; });
  return found == kFormats.end() ? nullptr : found;
}

/// Refuses a name that ends as those of another format do.
void check_format(const OutputFile& file) {
  const std::filesystem::path path(file.path);
  const Format* promised = format_of(path.extension().string());
  const Format* written = format_of(ending_of(file.content));
  if (promised == nullptr || written == nullptr || std::string(promised->name) == written->name) return;
  usage_error("{} {}: the {} is written as {}, not {}; call it {}", file.option, file.path, file.content, written->name,
              promised->name, std::filesystem::path(path).replace_extension(written->ending).string());
}

}  // namespace

void require_writable(const std::vector<OutputFile>& files) {
  for (auto file = files.begin(); file != files.end(); ++file) {
    if (file->path.empty()) continue;
    check_format(*file);
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
