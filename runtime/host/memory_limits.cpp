#include "runtime/host/memory_limits.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace shardline {
namespace {

constexpr double kKibi = 1024;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

/// "max" and "unlimited" mean no limit. Nothing if the text is no number either.
std::optional<double> amount(const std::string& text) {
  if (text == "max" || text == "unlimited") return kUnlimited;
  std::istringstream stream(text);
  double value = 0;
  return stream >> value ? std::optional(value) : std::nullopt;
}

/// The content of a file with one number.
std::optional<double> amount_in(const std::string& path) {
  const std::vector<std::string> lines = lines_of(path);
  return lines.empty() ? std::nullopt : amount(lines[0]);
}

/// The number after `key` in a file with lines "key value" or "key: value kB", in the unit of the
/// file.
std::optional<double> value_of(const std::string& path, const std::string& key) {
  for (const std::string& line : lines_of(path)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 2 && words[0] == key) return amount(words[1]);
  }
  return std::nullopt;
}

MemoryBound bound(std::string name, double limit, double left) {
  return {.name = std::move(name), .limit = Bytes(limit), .left = Bytes(std::max(0.0, std::min(left, limit)))};
}

void add_machine(const std::string& root, std::vector<MemoryBound>& bounds) {
  const std::string path = root + "/proc/meminfo";
  const std::optional<double> total = value_of(path, "MemTotal:");
  if (!total) return;
  // Kernels before 3.14 do not give the available memory.
  const double available =
      value_of(path, "MemAvailable:")
          .value_or(value_of(path, "MemFree:").value_or(*total) + value_of(path, "Cached:").value_or(0));
  bounds.push_back(bound("free memory", kKibi * *total, kKibi * available));
}

/// A hierarchy of control groups: where it is mounted, and where the process is in it.
struct Hierarchy {
  bool unified = false;  ///< cgroup v2
  std::string mount;     ///< folder, below the root that stands for "/"
  std::string group;     ///< of the process, relative to the mount: "/slurm/job_7"; empty for the mount itself
};

/// True if `wanted` is an entry of "rw,memory,...".
bool has_entry(const std::string& list, const std::string& wanted) {
  return ("," + list + ",").find("," + wanted + ",") != std::string::npos;
}

/// The group of the process in the hierarchy, from /proc/self/cgroup. Lines are
/// "number:controllers:path".
std::optional<std::string> group_path(const std::string& root, bool unified) {
  for (const std::string& line : lines_of(root + "/proc/self/cgroup")) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : has_entry(controllers, "memory")) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// The part of `path` below `top`. Empty if it is `top` itself, or not below it: a process may be
/// in a group outside its cgroup namespace ("/../other").
std::string below(const std::string& path, const std::string& top) {
  std::string rest = path;
  if (top != "/") {
    if (path.rfind(top, 0) != 0) return "";
    rest = path.substr(top.size());
    if (!rest.empty() && rest[0] != '/') return "";
  }
  if (rest == "/" || (rest + "/").find("/../") != std::string::npos) return "";
  return rest;
}

/// mountinfo writes spaces and similar characters as \040.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool octal = text[i] == '\\' && i + 3 < text.size();
    result += octal ? static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8)) : text[i];
    if (octal) i += 3;
  }
  return result;
}

/// The mounted hierarchies that may bound memory. Lines of mountinfo are "id parent device root
/// mount options [more]... - type source super-options".
std::vector<Hierarchy> hierarchies(const std::string& root) {
  std::vector<Hierarchy> found;
  for (const std::string& line : lines_of(root + "/proc/self/mountinfo")) {
    const std::vector<std::string> words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const std::string& type = dash[1];
    const bool unified = type == "cgroup2";
    if (!unified && !(type == "cgroup" && has_entry(dash[3], "memory"))) continue;
    const std::optional<std::string> path = group_path(root, unified);
    if (path) found.push_back({unified, root + unescaped(words[4]), below(*path, unescaped(words[3]))});
  }
  return found;
}

/// The names of a group's files and keys.
struct GroupFiles {
  std::vector<std::string> limits;
  std::string usage;
  std::vector<std::string> page_cache;  ///< keys of memory.stat for memory that the system can give back
};

const GroupFiles& files_of(bool unified) {
  static const GroupFiles kFirst{
      {"memory.limit_in_bytes"}, "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
  static const GroupFiles kSecond{{"memory.max", "memory.high"}, "memory.current", {"inactive_file", "active_file"}};
  return unified ? kSecond : kFirst;
}

void add_group(const Hierarchy& hierarchy, const std::string& group, std::vector<MemoryBound>& bounds) {
  const std::string folder = hierarchy.mount + group;
  const GroupFiles& files = files_of(hierarchy.unified);
  const std::string stat = folder + "/memory.stat";
  double used = amount_in(folder + "/" + files.usage).value_or(0);
  for (const std::string& key : files.page_cache) used -= value_of(stat, key).value_or(0);
  struct stat status {};
  const auto id = ::stat(folder.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
  const auto add = [&](const std::string& file, std::optional<double> limit) {
    if (!limit || *limit == kUnlimited) return;
    const std::string name = fmt::format("cgroup {} ({})", group.empty() ? "/" : group, file);
    bounds.push_back(bound(name, *limit, *limit - std::max(0.0, used)));
    bounds.back().id = id;
  };
  for (const std::string& file : files.limits) add(file, amount_in(folder + "/" + file));
  // Version 1 also knows the smallest limit of the groups above, even those that a container cannot
  // see.
  if (!hierarchy.unified) add("hierarchical_memory_limit", value_of(stat, "hierarchical_memory_limit"));
}

/// Adds the process's own group and those above it.
void add_groups(const Hierarchy& hierarchy, std::vector<MemoryBound>& bounds) {
  for (std::string group = hierarchy.group;; group.resize(group.rfind('/'))) {
    add_group(hierarchy, group, bounds);
    if (group.empty()) return;
  }
}

/// "Max address space  2000000  unlimited  bytes": the soft limit.
void add_resource_limit(const std::string& root, const std::string& resource, const std::string& used_key,
                        const std::string& name, std::vector<MemoryBound>& bounds) {
  for (const std::string& line : lines_of(root + "/proc/self/limits")) {
    if (line.rfind(resource, 0) != 0) continue;
    const std::vector<std::string> words = words_of(line.substr(resource.size()));
    const std::optional<double> limit = words.empty() ? std::nullopt : amount(words[0]);
    if (!limit || *limit == kUnlimited) return;
    const double used = kKibi * value_of(root + "/proc/self/status", used_key).value_or(0);
    bounds.push_back(bound(name, *limit, *limit - used));
    bounds.back().own = true;
  }
}

}  // namespace

std::vector<MemoryBound> memory_bounds(const std::string& root) {
  std::vector<MemoryBound> bounds;
  add_machine(root, bounds);
  for (const Hierarchy& hierarchy : hierarchies(root)) add_groups(hierarchy, bounds);
  add_resource_limit(root, "Max address space", "VmSize:", "ulimit -v", bounds);
  add_resource_limit(root, "Max data size", "VmData:", "ulimit -d", bounds);
  return bounds;
}

}  // namespace shardline
