// Output files of commands: never an input, never the same file twice, never an unwritable file.

#include "tools/output/output_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "runtime/base/check.h"
#include "runtime/host/files.h"
#include "tests/models/temporary_folder.h"
#include "tools/output/output.h"
#include "tools/output/text.h"

namespace shardline::tools {
namespace {

namespace fs = std::filesystem;

std::string fault_of(const CommandFiles& files) {
  try {
    check_files(files);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// The fault of a command that reads `input` and writes a record to `output`.
std::string fault_of(const std::string& input, const std::string& output) {
  return fault_of({.inputs = {{"--data", "text", input}}, .outputs = {{"--json", "record", output}}});
}

TEST(OutputFiles, NoInputIsWrittenByWhateverWayItIsReached) {
  const TemporaryFolder folder;
  const std::string text = folder.write("c.txt", "text");
  fs::create_directory(folder.path("a"));
  fs::create_symlink("c.txt", folder.path("link"));
  fs::create_symlink(folder.path(), folder.path("a/up"));
  fs::create_hard_link(text, folder.path("hard"));
  const std::string relative = fs::relative(text).string();
  for (const std::string& output : {text, folder.path("./c.txt"), folder.path("a/../c.txt"), folder.path("link"),
                                    folder.path("a/up/c.txt"), folder.path("hard"), relative}) {
    EXPECT_EQ(fault_of(text, output), "--json " + output + ": the text of --data is read from there");
    EXPECT_EQ(fault_of(output, text), "--json " + text + ": the text of --data is read from there");
  }
  EXPECT_EQ(fault_of(text, folder.path("a/c.txt")), "");
  EXPECT_EQ(fault_of("", folder.path("record")), "");
  EXPECT_EQ(read_file(text), "text");
}

TEST(OutputFiles, AFileThatIsNotThereYetHasOnePlace) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path("a"));
  fs::create_symlink(folder.path("new"), folder.path("dangling"));
  fs::create_symlink("dangling", folder.path("twice"));
  for (const char* output : {"new", "a/../new", "dangling", "twice"}) {
    EXPECT_NE(fault_of(folder.path("new"), folder.path(output)), "") << output;
  }
  fs::create_symlink("round", folder.path("circle"));
  fs::create_symlink("circle", folder.path("round"));
  EXPECT_EQ(fault_of("", folder.path("circle")), folder.path("circle") + ": symbolic links go round in circles");
}

TEST(OutputFiles, NothingIsWrittenInAFolderThatIsRead) {
  const TemporaryFolder folder;
  const std::string model = folder.path("model");
  fs::create_directories(model + "/below");
  folder.write("blob", "weights");
  fs::create_symlink("../blob", model + "/model.safetensors");
  fs::create_symlink(model, folder.path("link"));
  const auto fault = [&](const std::string& output) {
    return fault_of({.input_folders = {{"--load", "model", model}}, .outputs = {{"--json", "record", output}}});
  };
  for (const std::string& output : {model + "/r.json", model + "/below/r.json", folder.path("link/r.json"),
                                    model + "/model.safetensors", folder.path("blob")}) {
    EXPECT_EQ(fault(output), "--json " + output + ": lies in " + model +
                                 ", the folder of --load, where nothing is written; another folder works");
  }
  EXPECT_EQ(fault(folder.path("model2")), "");
  const CommandFiles saves{.input_folders = {{"--load", "model", model}},
                           .more_outputs = {{"--save", "model", folder.path("link/config.json")}}};
  EXPECT_NE(fault_of(saves), "");
}

TEST(OutputFiles, NoFileIsWrittenTwice) {
  const TemporaryFolder folder;
  const std::string file = folder.path("f");
  const auto fault = [](const std::string& first, const std::string& second) {
    return fault_of({.outputs = {{"--trace", "trace", first}, {"--csv", "table", ""}, {"--report", "page", second}}});
  };
  EXPECT_EQ(fault(file, file + "2"), "");
  EXPECT_EQ(fault(file, file), "--report " + file + ": the trace of --trace goes there");
  EXPECT_NE(fault(file, folder.path("./f")), "");
  EXPECT_NE(fault(folder.path("../" + fs::path(folder.path()).parent_path().filename().string() + "/f"), file), "");
  EXPECT_EQ(fault("", ""), "");
  EXPECT_FALSE(fs::exists(file));
}

TEST(OutputFiles, WhatIsPrintedIsNotReplaced) {
  const TemporaryFolder folder;
  const std::string file = folder.write("out", "");
  const int kept = ::dup(STDOUT_FILENO);
  ASSERT_NE(std::freopen(file.c_str(), "a", stdout), nullptr);
  const std::string fault = fault_of("", file);
  ::dup2(kept, STDOUT_FILENO);
  ::close(kept);
  EXPECT_EQ(fault, "--json " + file + ": standard output goes there");
}

TEST(OutputFiles, WhatCannotBeWrittenIsRefused) {
  const TemporaryFolder folder;
  EXPECT_EQ(fault_of("", folder.path("nowhere/f")).find(folder.path("nowhere/f") + ": cannot be created"), 0U);
  EXPECT_EQ(fault_of("", "/dev/full"),
            "--json /dev/full: not a regular file, so it cannot be replaced whole; - is standard output");
  EXPECT_NE(fault_of("", folder.path()), "");
  EXPECT_EQ(fault_of({.outputs = {{"--json", "record", "-"}, {"--csv", "table", "-"}}}),
            "--csv -: the record of --json goes there");
}

TEST(Output, WhatIsLostIsRememberedAndTheRestIsWritten) {
  const TemporaryFolder folder;
  EXPECT_TRUE(all_is_written());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit nothing{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &nothing), 0);
  write_output(folder.path("lost"), "text");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  write_output(folder.path("kept"), "text");
  EXPECT_FALSE(all_is_written());
  EXPECT_FALSE(fs::exists(folder.path("lost")));
  EXPECT_EQ(read_file(folder.path("kept")), "text");
}

TEST(OutputFiles, ANameThatPromisesAnotherFormatIsRefused) {
  const std::string folder = testing::TempDir();
  const auto named = [&](const char* option, const char* content, const std::string& name) {
    return fault_of({.outputs = {{option, content, folder + "/" + name}}});
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
