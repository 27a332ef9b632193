// Each floor may include only itself and the floors below. The test reads the include lines of the sources. It
// also plants illegal includes and checks that it finds them, and counts the files in the folders of tests.

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

/// The floors from bottom to top. Each line is a part of a floor: its rooms (folders) may include each other,
/// and the rooms of every earlier line. `mpi` also holds for all that a part includes: rooms without MPI build
/// without it.
struct Part {
  std::vector<std::string> rooms;
  bool mpi = false;        ///< may include rooms with MPI
  bool calls_mpi = false;  ///< may include mpi.h
};

const std::vector<Part>& house() {
  static const std::vector<Part> parts{
      {{"runtime/base"}},
      {{"runtime/host"}},
      {{"runtime/layout"}},
      {{"runtime/mpi"}, true, true},
      {{"runtime/mesh", "runtime/trace"}, true, true},
      {{"kernels", "kernels/support", "kernels/gemm", "kernels/einsum", "kernels/attention", "kernels/experts"}},
      {{"collectives/schedule"}},
      {{"collectives", "collectives/run", "collectives/native", "collectives/shared", "collectives/overlap"},
       true,
       true},
      {{"roofline/price", "roofline/machine"}},
      {{"roofline/measure"}, true},
      {{"program/ir"}},
      {{"program/ops"}},
      {{"program/transform"}},
      {{"program/price"}},
      {{"program/partition"}},
      {{"program/product"}},
      {{"program/timetable"}},
      {{"program/cut"}},
      {{"program/plan"}},
      {{"program/run"}, true},
      {{"models/architecture"}},
      {{"models/tokens"}},
      {{"models/strategy"}},
      {{"models/planning"}},
      {{"models/data"}},
      {{"models/checkpoint", "models/training", "models/generation"}, true},
      {{"models/gguf"}, true},
      {{"models/parity"}, true},
      {{"tools", "tools/bench", "tools/book", "tools/generation", "tools/options", "tools/output", "tools/plan",
        "tools/product", "tools/report", "tools/tokens", "tools/trace", "tools/training"},
       true}};
  return parts;
}

/// The position of a room in house(); -1 if there is no such room.
int part_of(const std::string& room) {
  for (std::size_t i = 0; i < house().size(); ++i) {
    const std::vector<std::string>& rooms = house()[i].rooms;
    if (std::find(rooms.begin(), rooms.end(), room) != rooms.end()) return static_cast<int>(i);
  }
  return -1;
}

const Part& part(int position) { return house().at(static_cast<std::size_t>(position)); }

/// kernels/ may include only runtime/base and runtime/host: it knows only views of plain memory.
bool apart(const std::string& from, const std::string& to) {
  return from.starts_with("kernels") && !to.starts_with("kernels") && to != "runtime/base" && to != "runtime/host";
}

/// The room of a repository path: "runtime/base" of "runtime/base/check.h".
std::string room_of(const std::string& path) { return fs::path(path).parent_path().generic_string(); }

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

/// The fault of one include line of a source in `room`; empty if there is none.
std::string fault_of(const Include& include, const std::string& room, const fs::path& root) {
  const int from = part_of(room);
  if (from < 0) return room + " is no room of the house";
  const bool ours = fs::exists(root / include.path);
  if (include.path == "mpi.h" && !part(from).calls_mpi) return "only runtime and collectives may call MPI";
  if (include.quoted && !ours) return "not a path from the root of the repository";
  if (!ours) return "";
  const std::string target = room_of(include.path);
  const int to = part_of(target);
  if (to < 0 || to > from || apart(room, target)) return room + " may not include " + target;
  if (part(to).mpi && !part(from).mpi) return room + " builds without MPI and may not include " + target;
  return "";
}

/// False if `source` is a .cpp that does not include its own header first. If it does, compiling the source
/// also compiles the header alone.
bool own_header_first(const fs::path& source, const std::vector<Include>& includes, const fs::path& root) {
  fs::path header = source;
  header.replace_extension(".h");
  if (header == source || !fs::exists(header)) return true;
  return !includes.empty() && includes.front().path == fs::relative(header, root).generic_string();
}

/// "kernels/gemm/gemm.h:3: ..." for every illegal include line, and the number of sources read.
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
        const std::string fault = fault_of(include, room_of(path), root);
        if (!fault.empty()) {
          result.faults.push_back(fmt::format("{}:{}: {}: {}", path, include.line, include.path, fault));
        }
      }
    }
  }
  return result;
}

/// The most files directly in a folder of tests. If there are more, the tests of a room get a folder with its
/// name.
constexpr int kMostTestFiles = 22;

/// "tests/tools holds 51 files, ..." for every folder of tests with more than kMostTestFiles.
std::vector<std::string> crowded_test_folders(const fs::path& root) {
  std::map<std::string, int> files;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    if (entry.is_regular_file()) ++files[room_of(fs::relative(entry.path(), root).generic_string())];
  }
  std::vector<std::string> faults;
  for (const auto& [folder, count] : files) {
    if (count <= kMostTestFiles) continue;
    faults.push_back(fmt::format("{} holds {} files, more than {}: tests of a room go to a folder of its name", folder,
                                 count, kMostTestFiles));
  }
  return faults;
}

TEST(Structure, NoFolderOfTestsIsCrowded) {
  for (const std::string& fault : crowded_test_folders(SHARDLINE_SOURCE_DIR)) ADD_FAILURE() << fault;
}

TEST(Structure, NoFloorIncludesAFloorAbove) {
  const Walk found = walk(SHARDLINE_SOURCE_DIR);
  EXPECT_GT(found.sources, 20);
  for (const std::string& fault : found.faults) ADD_FAILURE() << fault;
}

/// A small source tree in its own folder. The destructor deletes it.
class House {
 public:
  House() : root_(fs::temp_directory_path() / ("shardline_structure_" + std::to_string(::getpid()))) {
    for (const char* path : {"runtime/base/check.h", "runtime/layout/blocks.h", "runtime/mesh/mesh.h",
                             "runtime/mpi/error.h", "kernels/gemm/gemm.h", "collectives/schedule/schedule.h",
                             "program/ir/program.h", "models/architecture/mlp.h", "tests/support.h"}) {
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
  const fs::path& root() const { return root_; }
  /// The faults if a file at `path` has this text.
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
  EXPECT_EQ(house.faults("kernels/a.cpp", "// first line\n#include \"collectives/schedule/schedule.h\"\n"),
            Faults{"kernels/a.cpp:2: collectives/schedule/schedule.h: kernels may not include collectives/schedule"});
  EXPECT_EQ(house.faults("kernels/a.cpp", "#include \"runtime/mesh/mesh.h\"\n"),
            Faults{"kernels/a.cpp:1: runtime/mesh/mesh.h: kernels may not include runtime/mesh"});
  EXPECT_EQ(house.faults("kernels/a.cpp", "#include \"runtime/layout/blocks.h\"\n"),
            Faults{"kernels/a.cpp:1: runtime/layout/blocks.h: kernels may not include runtime/layout"});
  EXPECT_EQ(house.faults("runtime/base/a.h", "#include \"runtime/mesh/mesh.h\"\n"),
            Faults{"runtime/base/a.h:1: runtime/mesh/mesh.h: runtime/base may not include runtime/mesh"});
  EXPECT_EQ(house.faults("runtime/mesh/a.cpp", "#include \"kernels/gemm/gemm.h\"\n"),
            Faults{"runtime/mesh/a.cpp:1: kernels/gemm/gemm.h: runtime/mesh may not include kernels/gemm"});
  EXPECT_EQ(house.faults("program/ir/a.cpp", "  #  include <models/architecture/mlp.h>\n"),
            Faults{"program/ir/a.cpp:1: models/architecture/mlp.h: program/ir may not include models/architecture"});
  EXPECT_EQ(house.faults("models/training/a.cpp", "#include \"tests/support.h\"\n"),
            Faults{"models/training/a.cpp:1: tests/support.h: models/training may not include tests"});
  EXPECT_EQ(house.faults("models/training/a.cpp", "#include <mpi.h>\n"),
            Faults{"models/training/a.cpp:1: mpi.h: only runtime and collectives may call MPI"});
  EXPECT_EQ(house.faults("kernels/a.cpp", "#include \"gemm.h\"\n"),
            Faults{"kernels/a.cpp:1: gemm.h: not a path from the root of the repository"});
}

TEST(Structure, FindsMpiInRoomsThatBuildWithoutIt) {
  const House house;
  using Faults = std::vector<std::string>;
  EXPECT_EQ(house.faults("collectives/schedule/a.cpp", "#include \"runtime/mesh/mesh.h\"\n"),
            Faults{"collectives/schedule/a.cpp:1: runtime/mesh/mesh.h: collectives/schedule builds without MPI and may "
                   "not include runtime/mesh"});
  EXPECT_EQ(house.faults("program/plan/a.cpp", "#include \"runtime/mpi/error.h\"\n"),
            Faults{"program/plan/a.cpp:1: runtime/mpi/error.h: program/plan builds without MPI and may not include "
                   "runtime/mpi"});
}

TEST(Structure, FindsFoldersThatAreNoRooms) {
  const House house;
  EXPECT_EQ(house.faults("program/attic/a.cpp", "#include <vector>\n"),
            std::vector<std::string>{"program/attic/a.cpp:1: vector: program/attic is no room of the house"});
}

TEST(Structure, FindsSourcesThatDoNotIncludeTheirHeaderFirst) {
  const House house;
  const std::vector<std::string> late{"runtime/mesh/mesh.cpp: its header must come first"};
  EXPECT_EQ(house.faults("runtime/mesh/mesh.cpp", "#include <vector>\n#include \"runtime/mesh/mesh.h\"\n"), late);
  EXPECT_EQ(house.faults("runtime/mesh/mesh.cpp", "int x;\n"), late);
  EXPECT_TRUE(house.faults("runtime/mesh/mesh.cpp", "#include \"runtime/mesh/mesh.h\"\n#include <vector>\n").empty());
}

TEST(Structure, FindsCrowdedFoldersOfTests) {
  const House house;
  for (int i = 0; i < kMostTestFiles; ++i) {
    house.write(fmt::format("tests/tools/{}_test.cpp", i), "");
    house.write(fmt::format("tests/tools/trace/{}_test.sh", i), "");
  }
  EXPECT_TRUE(crowded_test_folders(house.root()).empty());
  house.write("tests/tools/trace/one_more.h", "");
  EXPECT_EQ(
      crowded_test_folders(house.root()),
      std::vector<std::string>{"tests/tools/trace holds 23 files, more than 22: tests of a room go to a folder of "
                               "its name"});
}

TEST(Structure, LetsArrowsPointDown) {
  const House house;
  const std::vector<std::string> none;
  EXPECT_EQ(house.faults("models/training/a.cpp",
                         "#include <vector>\n#include \"program/ir/program.h\"\n#include \"runtime/mesh/mesh.h\"\n"),
            none);
  EXPECT_EQ(house.faults("kernels/a.cpp", "#include \"runtime/base/check.h\"\n#include \"kernels/gemm/gemm.h\"\n"),
            none);
  EXPECT_EQ(house.faults("collectives/run/a.cpp", "#include <mpi.h>\n#include \"runtime/mpi/error.h\"\n"), none);
}

}  // namespace
