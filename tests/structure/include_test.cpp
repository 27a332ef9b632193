// The floors of the house: each includes only floors below it. The test walks the include lines of the sources, and
// plants arrows that point up to see that it finds them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// What each floor may include, by the folder of the included file. Rooms of runtime that other floors treat apart are
/// floors of their own.
const std::map<std::string, std::vector<std::string>>& allowed() {
  static const std::map<std::string, std::vector<std::string>> floors{
      {"runtime/base", {"runtime/base"}},
      {"runtime/mpi", {"runtime/base", "runtime/mpi"}},
      {"runtime", {"runtime/base", "runtime/mpi", "runtime"}},
      {"kernels", {"runtime/base", "kernels"}},
      {"collectives", {"runtime/base", "runtime/mpi", "runtime", "kernels", "collectives"}},
      {"roofline", {"runtime/base", "runtime/mpi", "runtime", "kernels", "collectives", "roofline"}},
      {"program", {"runtime/base", "runtime/mpi", "runtime", "kernels", "collectives", "roofline", "program"}},
      {"models", {"runtime/base", "runtime/mpi", "runtime", "kernels", "collectives", "roofline", "program", "models"}},
      {"tools",
       {"runtime/base", "runtime/mpi", "runtime", "kernels", "collectives", "roofline", "program", "models", "tools"}}};
  return floors;
}

/// Floors whose sources may call MPI themselves.
const std::vector<std::string> kMpiCallers{"runtime/mpi", "runtime", "collectives"};

bool has(const std::vector<std::string>& items, const std::string& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

/// The floor of a repository path: "runtime/base" of "runtime/base/check.h"; the first folder where that is no floor.
std::string floor_of(const std::string& path) {
  std::string folder = fs::path(path).parent_path().generic_string();
  if (allowed().contains(folder)) return folder;
  return path.substr(0, path.find('/'));
}

struct Include {
  int line = 0;
  bool quoted = false;
  std::string path;
};

std::vector<Include> includes_of(const fs::path& file) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::ifstream stream(file);
  std::vector<Include> includes;
  std::string text;
  for (int line = 1; std::getline(stream, text); ++line) {
    std::smatch match;
    if (std::regex_search(text, match, pattern)) includes.push_back({line, match[1] == "\"", match[2]});
  }
  return includes;
}

/// What is wrong with one include line of a source of `floor`; empty when nothing is.
std::string fault_of(const Include& include, const std::string& floor, const fs::path& root) {
  const bool ours = fs::exists(root / include.path);
  if (include.path == "mpi.h" && !has(kMpiCallers, floor)) return "only runtime and collectives may call MPI";
  if (include.quoted && !ours) return "not a path from the root of the repository";
  if (ours && !has(allowed().at(floor), floor_of(include.path)))
    return floor + " may not include " + floor_of(include.path);
  return "";
}

/// True unless `source` is a .cpp with a header of its own that it does not include before all else. Since it does,
/// building the source compiles the header alone.
bool own_header_first(const fs::path& source, const std::vector<Include>& includes, const fs::path& root) {
  fs::path header = source;
  header.replace_extension(".h");
  if (header == source || !fs::exists(header)) return true;
  return !includes.empty() && includes.front().path == fs::relative(header, root).generic_string();
}

/// "kernels/gemm.h:3: ..." for every include line that is not legal, and the number of sources that were read.
struct Walk {
  std::vector<std::string> faults;
  int sources = 0;
};

Walk walk(const fs::path& root) {
  Walk result;
  for (const char* top : {"runtime", "kernels", "collectives", "roofline", "program", "models", "tools"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp") continue;
      ++result.sources;
      const std::string path = fs::relative(entry.path(), root).generic_string();
      const std::vector<Include> includes = includes_of(entry.path());
      if (!own_header_first(entry.path(), includes, root))
        result.faults.push_back(path + ": its header must come first");
      for (const Include& include : includes) {
        const std::string fault = fault_of(include, floor_of(path), root);
        if (!fault.empty()) {
          result.faults.push_back(fmt::format("{}:{}: {}: {}", path, include.line, include.path, fault));
        }
      }
    }
  }
  return result;
}

TEST(Structure, NoFloorIncludesAFloorAbove) {
  const Walk found = walk(SHARDLINE_SOURCE_DIR);
  EXPECT_GT(found.sources, 20);
  for (const std::string& fault : found.faults) ADD_FAILURE() << fault;
}

/// A small house in a folder of its own, deleted with it.
class House {
 public:
  House() : root_(fs::temp_directory_path() / ("shardline_structure_" + std::to_string(::getpid()))) {
    for (const char* path : {"runtime/base/check.h", "runtime/mesh.h", "runtime/mpi/error.h", "kernels/gemm.h",
                             "collectives/schedule.h", "program/program.h", "models/mlp.h", "tests/support.h"}) {
      write(path, "#pragma once\n");
    }
  }
  ~House() { fs::remove_all(root_); }
  House(const House&) = delete;
  House& operator=(const House&) = delete;

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  /// The faults when a file of this text stands at `path`.
  std::vector<std::string> faults(const std::string& path, const std::string& text) const {
    write(path, text);
    std::vector<std::string> faults = walk(root_).faults;
    fs::remove(root_ / path);
    return faults;
  }

 private:
  fs::path root_;
};

TEST(Structure, FindsArrowsThatPointUp) {
  const House house;
  using Faults = std::vector<std::string>;
  EXPECT_EQ(house.faults("kernels/a.cpp", "// first line\n#include \"collectives/schedule.h\"\n"),
            Faults{"kernels/a.cpp:2: collectives/schedule.h: kernels may not include collectives"});
  EXPECT_EQ(house.faults("kernels/a.cpp", "#include \"runtime/mesh.h\"\n"),
            Faults{"kernels/a.cpp:1: runtime/mesh.h: kernels may not include runtime"});
  EXPECT_EQ(house.faults("runtime/base/a.h", "#include \"runtime/mesh.h\"\n"),
            Faults{"runtime/base/a.h:1: runtime/mesh.h: runtime/base may not include runtime"});
  EXPECT_EQ(house.faults("runtime/a.cpp", "#include \"kernels/gemm.h\"\n"),
            Faults{"runtime/a.cpp:1: kernels/gemm.h: runtime may not include kernels"});
  EXPECT_EQ(house.faults("program/room/a.cpp", "  #  include <models/mlp.h>\n"),
            Faults{"program/room/a.cpp:1: models/mlp.h: program may not include models"});
  EXPECT_EQ(house.faults("models/a.cpp", "#include \"tests/support.h\"\n"),
            Faults{"models/a.cpp:1: tests/support.h: models may not include tests"});
  EXPECT_EQ(house.faults("models/a.cpp", "#include <mpi.h>\n"),
            Faults{"models/a.cpp:1: mpi.h: only runtime and collectives may call MPI"});
  EXPECT_EQ(house.faults("kernels/a.cpp", "#include \"gemm.h\"\n"),
            Faults{"kernels/a.cpp:1: gemm.h: not a path from the root of the repository"});
}

TEST(Structure, FindsSourcesThatDoNotIncludeTheirHeaderFirst) {
  const House house;
  const std::vector<std::string> late{"runtime/mesh.cpp: its header must come first"};
  EXPECT_EQ(house.faults("runtime/mesh.cpp", "#include <vector>\n#include \"runtime/mesh.h\"\n"), late);
  EXPECT_EQ(house.faults("runtime/mesh.cpp", "int x;\n"), late);
  EXPECT_TRUE(house.faults("runtime/mesh.cpp", "#include \"runtime/mesh.h\"\n#include <vector>\n").empty());
}

TEST(Structure, LetsArrowsPointDown) {
  const House house;
  const std::vector<std::string> none;
  EXPECT_EQ(
      house.faults("models/a.cpp", "#include <vector>\n#include \"program/program.h\"\n#include \"runtime/mesh.h\"\n"),
      none);
  EXPECT_EQ(house.faults("kernels/a.cpp", "#include \"runtime/base/check.h\"\n#include \"kernels/gemm.h\"\n"), none);
  EXPECT_EQ(house.faults("collectives/a.cpp", "#include <mpi.h>\n#include \"runtime/mpi/error.h\"\n"), none);
}

}  // namespace
