// Files that commands write: none twice, and none that cannot be written.

#include "tools/output_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/base/check.h"
#include "tools/text.h"

namespace shardline::tools {
namespace {

std::string fault_of(const std::vector<OutputFile>& files) {
  try {
    require_writable(files);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(OutputFiles, NoFileIsWrittenTwice) {
  const std::string folder = testing::TempDir();
  const std::string file = folder + "/output_file";
  EXPECT_EQ(fault_of({{"--json", "record", file}, {"--report", "page", file + "2"}}), "");
  EXPECT_EQ(fault_of({{"--json", "record", file}, {"--csv", "table", ""}, {"--report", "page", file}}),
            "--report " + file + ": the record of --json goes there");
  const std::string other_way =
      folder + "/../" + std::filesystem::path(folder).parent_path().filename().string() + "/./output_file";
  EXPECT_EQ(fault_of({{"--trace", "trace", file}, {"--report", "page", other_way}}),
            "--report " + other_way + ": the trace of --trace goes there");
  EXPECT_EQ(fault_of({{"--json", "record", ""}, {"--report", "page", ""}}), "");
}

TEST(OutputFiles, ASymbolicLinkIsTheFileItLeadsTo) {
  const std::filesystem::path link = std::filesystem::path(testing::TempDir()) / "output_link";
  std::filesystem::remove(link);
  std::filesystem::create_directory_symlink(testing::TempDir(), link);
  EXPECT_NE(fault_of({{"--json", "record", testing::TempDir() + "/f"}, {"--report", "page", (link / "f").string()}}),
            "");
  std::filesystem::remove(link);
}

TEST(OutputFiles, AFolderThatIsNotThereIsRefused) {
  const std::string path = testing::TempDir() + "/nowhere/page.html";
  EXPECT_NE(fault_of({{"--report", "page", path}}).find(path), std::string::npos);
}

TEST(OutputFiles, ANameThatPromisesAnotherFormatIsRefused) {
  const std::string folder = testing::TempDir();
  const auto named = [&](const char* option, const char* content, const std::string& name) {
    return fault_of({{option, content, folder + "/" + name}});
  };
  const std::string start = " " + folder + "/";
  EXPECT_EQ(named("--plot", "plot", "p.png"),
            "--plot" + start + "p.png: the plot is written as SVG, not PNG; call it " + folder + "/p.svg");
  EXPECT_EQ(named("--report", "page", "x.PDF"),
            "--report" + start + "x.PDF: the page is written as HTML, not PDF; call it " + folder + "/x.html");
  EXPECT_EQ(named("--json", "record", "rows.csv"),
            "--json" + start + "rows.csv: the record is written as JSON, not CSV; call it " + folder + "/rows.json");
  EXPECT_NE(named("--csv", "table", "rows.json"), "");
  EXPECT_NE(named("--trace", "trace", "t.html"), "");
  for (const char* name : {"p.svg", "p.SVG", "p", "p.v2", ".png", "png"}) EXPECT_EQ(named("--plot", "plot", name), "");
  EXPECT_EQ(named("--report", "page", "x.htm"), "");
  EXPECT_EQ(named("-o", "machine", "m.csv"), "");
}

TEST(Text, Sentences) {
  EXPECT_EQ(sentence("a b"), "A b.");
  EXPECT_EQ(sentence("A?"), "A?");
  EXPECT_EQ(sentence(""), "");
}

}  // namespace
}  // namespace shardline::tools
