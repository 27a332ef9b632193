#include "models/checkpoint/step_folders.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/number.h"
#include "runtime/base/result_error.h"
#include "runtime/host/files.h"

namespace shardline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "step-";
constexpr const char* kPartial = ".partial";
constexpr const char* kLatest = "latest";

std::string name_of(Index step) { return kPrefix + std::to_string(step); }

fs::path partial_path(const std::string& folder, Index step) { return fs::path(folder) / (name_of(step) + kPartial); }

/// The number in `step-N`; nothing for other names.
std::optional<Index> step_in(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return whole_number<Index>(name.substr(std::string(kPrefix).size()));
}

/// Forces the names in a folder to the disk.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced =
      descriptor >= 0 && (::fsync(descriptor) == 0 || errno == EINVAL);  // some systems have no such call
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!synced) throw ResultError(fmt::format("{}: cannot be written: {}", folder.string(), std::strerror(reason)));
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return;
  throw ResultError(
      fmt::format("{}: cannot be renamed to {}: {}", from.string(), to.filename().string(), std::strerror(errno)));
}

/// Removes a whole step folder. A kill in between leaves a partial one.
void remove_step(const fs::path& step) {
  std::error_code failure;
  const fs::path partial = step.string() + kPartial;
  fs::remove_all(partial, failure);
  fs::rename(step, partial, failure);
  if (!failure) fs::remove_all(partial, failure);
}

/// The step that `latest` names; nothing if there is no such file.
std::optional<std::string> latest_name(const std::string& folder) {
  const std::string path = (fs::path(folder) / kLatest).string();
  std::error_code failure;
  if (!fs::exists(path, failure)) return std::nullopt;
  std::string name = read_description(path);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  require(step_in(name).has_value(), "{}: names \"{}\", and no step-N", path, name);
  return name;
}

/// The numbers of the step folders that are whole, the largest first.
std::vector<Index> whole_steps(const std::string& folder) {
  std::vector<Index> steps;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    const std::optional<Index> step = step_in(entry.path().filename().string());
    if (step && fs::exists(manifest_path(entry.path().string()), failure)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end(), std::greater<>());
  return steps;
}

}  // namespace

std::string begin_step(const std::string& folder, Index step) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  require(fs::is_directory(folder), "{}: cannot make the folder: {}", folder, failure.message());
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kPartial)) fs::remove_all(entry.path(), failure);
  }
  const fs::path partial = partial_path(folder, step);
  fs::create_directory(partial, failure);
  require(fs::is_directory(partial), "{}: cannot make the folder: {}", partial.string(), failure.message());
  return partial.string();
}

void publish_step(const std::string& folder, Index step) {
  const fs::path partial = partial_path(folder, step);
  const fs::path final = fs::path(folder) / name_of(step);
  sync_folder(partial);
  // One call puts the new folder in the place of an older one, so that there is always one.
  const bool replaces = fs::exists(final);
  if (!replaces) {
    rename_or_throw(partial, final);
  } else if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) != 0) {
    throw ResultError(fmt::format("{}: cannot be replaced: {}", final.string(), std::strerror(errno)));
  }
  sync_folder(folder);
  WholeFile latest((fs::path(folder) / kLatest).string());
  const std::string text = name_of(step) + "\n";
  latest.write(text.data(), text.size());
  latest.commit();
  std::error_code ignored;
  if (replaces) fs::remove_all(partial, ignored);
}

void abandon_step(const std::string& folder, Index step) noexcept {
  std::error_code ignored;
  fs::remove_all(partial_path(folder, step), ignored);
}

void remove_old_steps(const std::string& folder, Index keep) {
  const std::optional<std::string> newest = latest_name(folder);
  if (!newest) return;
  std::vector<Index> steps = whole_steps(folder);
  std::erase_if(steps, [last = *step_in(*newest)](Index step) { return step > last; });
  for (std::size_t i = static_cast<std::size_t>(keep); i < steps.size(); ++i) {
    if (name_of(steps[i]) != *newest) remove_step(fs::path(folder) / name_of(steps[i]));
  }
}

bool has_checkpoint(const std::string& folder) {
  std::error_code failure;
  return fs::exists(manifest_path(folder), failure) || fs::exists(fs::path(folder) / kLatest, failure) ||
         !whole_steps(folder).empty();
}

std::string step_folder(const std::string& folder) {
  std::error_code failure;
  if (fs::exists(manifest_path(folder), failure)) return folder;
  require(fs::is_directory(folder, failure), "{}: no such folder", folder);
  std::optional<std::string> name = latest_name(folder);
  const std::vector<Index> steps = whole_steps(folder);
  if (!name && !steps.empty()) name = name_of(steps.front());
  require(name.has_value(), "{}: holds no checkpoint: neither {}, nor step-N, nor {}", folder, kLatest,
          fs::path(manifest_path("")).filename().string());
  return (fs::path(folder) / *name).string();
}

std::string manifest_path(const std::string& step_folder) { return (fs::path(step_folder) / "manifest.json").string(); }

}  // namespace shardline
