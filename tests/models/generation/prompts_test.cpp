#include "models/generation/prompts.h"

#include <gtest/gtest.h>

#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

using Texts = std::vector<std::string>;

TEST(Prompts, AreTheLinesOfAFile) {
  EXPECT_EQ(parse_prompts("one\ntwo three\n", "p.txt"), (Texts{"one", "two three"}));
  EXPECT_EQ(parse_prompts("one\ntwo", "p.txt"), (Texts{"one", "two"}));
  EXPECT_EQ(parse_prompts("one", "p.txt"), Texts{"one"});
  EXPECT_EQ(parse_prompts("one\r\ntwo\r\n", "p.txt"), (Texts{"one", "two"}));
  EXPECT_EQ(parse_prompts("one\r\ntwo", "p.txt"), (Texts{"one", "two"}));
}

TEST(Prompts, HaveEveryByteOfTheirLine) {
  EXPECT_EQ(parse_prompts(" a \t\n\\n \\u0041 \"\n \n", "p.txt"), (Texts{" a \t", "\\n \\u0041 \"", " "}));
  EXPECT_EQ(parse_prompts("a\rb\r\r\nc\r", "p.txt"), (Texts{"a\rb\r", "c\r"}));
  EXPECT_EQ(parse_prompts("\xC3\xA9\n\xFF", "p.txt"), (Texts{"\xC3\xA9", "\xFF"}));
  EXPECT_EQ(parse_prompts(std::string("a\0b\n", 4), "p.txt"), Texts{std::string("a\0b", 3)});
}

TEST(Prompts, RefuseAnEmptyLineOrFile) {
  const auto refused = [](const std::string& text) { return usage_error_of([&] { parse_prompts(text, "p.txt"); }); };
  EXPECT_EQ(refused(""), "p.txt: the file is empty; it must have a prompt a line");
  EXPECT_EQ(refused("\n"), "p.txt: line 1 is empty; a prompt has at least one byte");
  EXPECT_EQ(refused("a\n\nb\n"), "p.txt: line 2 is empty; a prompt has at least one byte");
  EXPECT_EQ(refused("a\nb\n\n"), "p.txt: line 3 is empty; a prompt has at least one byte");
  EXPECT_EQ(refused("a\r\n\r\n"), "p.txt: line 2 is empty; a prompt has at least one byte");
}

}  // namespace
}  // namespace shardline
