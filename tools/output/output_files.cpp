#include "tools/output/output_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "runtime/base/check.h"
#include "runtime/host/files.h"
#include "tools/output/output.h"

namespace shardline::tools {
namespace {

namespace fs = std::filesystem;

/// Equal for two paths to the same file. It is the device and number of the file; for a new file
/// those of its folder, and its name.
using Identity = std::tuple<dev_t, ino_t, std::string>;

std::optional<Identity> existing(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return Identity(status.st_dev, status.st_ino, "");
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

Identity identity_of(const std::string& path) {
  if (const auto found = existing(path)) return *found;
  const fs::path place = place_behind_links(path);
  const auto folder = existing(folder_of(place));
  if (!folder) return Identity(0, 0, fs::absolute(place).lexically_normal().string());
  return Identity(std::get<0>(*folder), std::get<1>(*folder), place.filename().string());
}

/// The first file of each identity.
using Places = std::map<Identity, const NamedFile*>;

void refuse_inputs(const NamedFile& output, const Identity& identity, const Places& inputs) {
  const auto found = inputs.find(identity);
  if (found == inputs.end()) return;
  usage_error("{} {}: the {} of {} is read from there", output.option, output.path, found->second->content,
              found->second->option);
}

/// Refuses an output at any depth in one of the folders, or a link to a file in them.
void refuse_input_folders(const NamedFile& output, const Identity& identity, const std::vector<NamedFile>& folders) {
  std::error_code failure;
  const fs::path place = fs::weakly_canonical(fs::absolute(place_behind_links(output.path), failure), failure);
  for (const NamedFile& folder : folders) {
    const auto inputs = existing(folder.path);
    if (!inputs) continue;
    bool inside = false;
    for (fs::path above = place.parent_path();; above = above.parent_path()) {
      inside = inside || existing(above) == inputs;
      if (above == above.parent_path()) break;
    }
    for (const auto& entry : fs::directory_iterator(folder.path, failure)) {
      inside = inside || existing(entry.path()) == identity;
    }
    require(!inside, "{} {}: lies in {}, the folder of {}, where nothing is written; another folder works",
            output.option, output.path, folder.path, folder.option);
  }
}

/// Refuses the file of a standard stream: the printed text would be lost when the file is replaced.
void refuse_streams(const NamedFile& output, const Identity& identity) {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) continue;
    require(Identity(status.st_dev, status.st_ino, "") != identity, "{} {}: standard {} goes there", output.option,
            output.path, descriptor == STDOUT_FILENO ? "output" : "error");
  }
}

void check_place(const NamedFile& output, const CommandFiles& files, const Places& inputs, Places& outputs) {
  const Identity identity = identity_of(output.path);
  refuse_inputs(output, identity, inputs);
  refuse_input_folders(output, identity, files.input_folders);
  refuse_streams(output, identity);
  const auto [found, is_new] = outputs.emplace(identity, &output);
  require(is_new, "{} {}: the {} of {} goes there", output.option, output.path, found->second->content,
          found->second->option);
}

/// Throws UsageError if the file cannot be written.
void probe(const NamedFile& output) {
  std::error_code failure;
  const fs::file_status status = fs::status(output.path, failure);
  require(!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status),
          "{} {}: not a regular file, so it cannot be replaced whole; - is standard output", output.option,
          output.path);
  const WholeFile file(output.path);
}

/// A format, and the file ending that stands for it.
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

/// The file ending for `content`. A "machine" may have any name.
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

/// Refuses a name with the ending of another format.
void check_format(const NamedFile& file) {
  const fs::path path(file.path);
  const Format* promised = format_of(path.extension().string());
  const Format* written = format_of(ending_of(file.content));
  if (promised == nullptr || written == nullptr || std::string(promised->name) == written->name) return;
  usage_error("{} {}: the {} is written as {}, not {}; call it {}", file.option, file.path, file.content, written->name,
              promised->name, fs::path(path).replace_extension(written->ending).string());
}

}  // namespace

void check_files(const CommandFiles& files) {
  Places inputs;
  Places outputs;
  for (const NamedFile& input : files.inputs) {
    if (!input.path.empty()) inputs.emplace(identity_of(input.path), &input);
  }
  const NamedFile* on_standard_output = nullptr;
  for (const NamedFile& output : files.outputs) {
    if (output.path == kStandardOutput) {
      require(on_standard_output == nullptr, "{} -: the {} of {} goes there", output.option,
              on_standard_output == nullptr ? "" : on_standard_output->content,
              on_standard_output == nullptr ? "" : on_standard_output->option);
      on_standard_output = &output;
    } else if (!output.path.empty()) {
      check_place(output, files, inputs, outputs);
      check_format(output);
    }
  }
  for (const NamedFile& output : files.more_outputs) check_place(output, files, inputs, outputs);
  for (const NamedFile& output : files.outputs) {
    if (!output.path.empty() && output.path != kStandardOutput) probe(output);
  }
  if (on_standard_output != nullptr) keep_standard_output_for_a_file();
}

}  // namespace shardline::tools
