// Folders of checkpoints: what is named step-N is whole, and `latest` names one, whatever happened before.
#include "models/checkpoint/step_folders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/host/files.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

namespace fs = std::filesystem;

/// A checkpoint whose manifest has this text.
void save(const TemporaryFolder& folder, Index step, const std::string& text) {
  const std::string partial = begin_step(folder.path(), step);
  std::ofstream(manifest_path(partial)) << text;
  publish_step(folder.path(), step);
}

std::set<std::string> names(const TemporaryFolder& folder) {
  std::set<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) found.insert(entry.path().filename());
  return found;
}

using Names = std::set<std::string>;

TEST(StepFolders, LatestNamesTheNewest) {
  const TemporaryFolder folder;
  EXPECT_FALSE(has_checkpoint(folder.path()));
  save(folder, 5, "five");
  EXPECT_EQ(step_folder(folder.path()), folder.path("step-5"));
  save(folder, 10, "ten");
  EXPECT_TRUE(has_checkpoint(folder.path()));
  EXPECT_TRUE(has_checkpoint(folder.path("step-5")));
  EXPECT_EQ(step_folder(folder.path()), folder.path("step-10"));
  EXPECT_EQ(step_folder(folder.path("step-5")), folder.path("step-5"));
  EXPECT_EQ(names(folder), (Names{"step-5", "step-10", "latest"}));
}

TEST(StepFolders, AStepThatIsSavedAgainReplacesTheOldOne) {
  const TemporaryFolder folder;
  save(folder, 5, "old");
  save(folder, 5, "new");
  EXPECT_EQ(read_file(manifest_path(folder.path("step-5"))), "new");
  EXPECT_EQ(names(folder), (Names{"step-5", "latest"}));
}

TEST(StepFolders, WhatWasKilledIsNoCheckpointAndGoesWithTheNext) {
  const TemporaryFolder folder;
  save(folder, 5, "five");
  std::ofstream(manifest_path(begin_step(folder.path(), 6))) << "six";  // killed before its name
  EXPECT_EQ(step_folder(folder.path()), folder.path("step-5"));
  begin_step(folder.path(), 7);
  EXPECT_EQ(names(folder), (Names{"step-5", "step-7.partial", "latest"}));
  abandon_step(folder.path(), 7);
  EXPECT_EQ(names(folder), (Names{"step-5", "latest"}));
}

TEST(StepFolders, TheNewestStay) {
  const TemporaryFolder folder;
  for (const Index step : {5, 100, 20, 90}) save(folder, step, "");
  folder.write("step-notes", "a file of the user");
  folder.write("step-7/other.txt", "no checkpoint");
  remove_old_steps(folder.path(), 2);  // up to 90, which latest names
  EXPECT_EQ(names(folder), (Names{"step-20", "step-90", "step-100", "step-7", "step-notes", "latest"}));
  remove_old_steps(folder.path(), 1);
  EXPECT_EQ(names(folder), (Names{"step-90", "step-100", "step-7", "step-notes", "latest"}));
}

TEST(StepFolders, WithoutLatestTheLargestNumberCounts) {
  const TemporaryFolder folder;
  for (const Index step : {5, 100, 20}) save(folder, step, "");
  std::filesystem::remove(folder.path("latest"));
  std::filesystem::create_directory(folder.path("step-200"));  // no checkpoint
  EXPECT_TRUE(has_checkpoint(folder.path()));
  EXPECT_EQ(step_folder(folder.path()), folder.path("step-100"));
}

TEST(StepFolders, SayWhatIsMissing) {
  const TemporaryFolder folder;
  const auto fault = [](const std::string& path) { return usage_error_of([&] { step_folder(path); }); };
  EXPECT_EQ(fault(folder.path("none")), folder.path("none") + ": no such folder");
  EXPECT_EQ(fault(folder.path()),
            folder.path() + ": holds no checkpoint: neither latest, nor step-N, nor manifest.json");
  folder.write("latest", "../elsewhere\n");
  EXPECT_EQ(fault(folder.path()), folder.path("latest") + ": names \"../elsewhere\", and no step-N");
  folder.write("file/step-3.partial", "");
  EXPECT_NE(fault(folder.path("latest")).find("no such folder"), std::string::npos);
}

}  // namespace
}  // namespace shardline
