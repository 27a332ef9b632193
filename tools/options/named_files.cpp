#include "tools/options/named_files.h"

#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "runtime/base/check.h"
#include "runtime/mpi/communicator.h"

namespace shardline::tools {
namespace {

/// The files that match a pattern of the shell, in alphabetical order. Throws UsageError if there are none.
std::vector<std::string> matches(const std::string& option, const std::string& pattern) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files;
  if (code == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  require(!files.empty(), "{} {}: no file matches", option, pattern);
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    require(file.find('\n') == std::string::npos, "{} {}: matches a name with a newline", option, pattern);
  }
  return files;
}

/// Collective over all ranks. The files of one item: itself, unless it is a pattern and no file has that name.
std::vector<std::string> files_of_item(const std::string& option, const std::string& item) {
  if (item.find_first_of("*?[") == std::string::npos) return {item};
  return files_on_root([&]() -> std::vector<std::string> {
    std::error_code error;
    if (std::filesystem::exists(item, error)) return {item};
    return matches(option, item);
  });
}

}  // namespace

std::vector<std::string> files_named(const std::string& option, const std::vector<std::string>& items) {
  std::vector<std::string> files;
  for (const std::string& item : items) {
    const std::vector<std::string> found = files_of_item(option, item);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

std::vector<std::string> files_on_root(const std::function<std::vector<std::string>()>& find) {
  std::stringstream names(
      mpi::on_root(mpi::Communicator::world(), 0, [&] { return fmt::format("{}", fmt::join(find(), "\n")); }));
  std::vector<std::string> files;
  for (std::string name; std::getline(names, name);) files.push_back(name);
  return files;
}

}  // namespace shardline::tools
