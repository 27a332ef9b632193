#include "models/data/prompt_lines.h"

#include <gtest/gtest.h>

#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

std::vector<std::string> flat(std::string_view text) {
  std::vector<std::string> all;
  for_each_prompt_line(text, "f.jsonl", [&](const PromptLine& line) {
    all.push_back(line.prompt);
    all.push_back(line.answer);
  });
  return all;
}

using Texts = std::vector<std::string>;

TEST(PromptLines, ReadsALineForEachSample) {
  EXPECT_EQ(flat(R"({"prompt": "2 + 3 =", "answer": " 5"})"
                 "\n"
                 R"({"answer":"b","prompt":"a"})"),
            (Texts{"2 + 3 =", " 5", "a", "b"}));
  EXPECT_EQ(flat(R"({"prompt": "", "completion": ""})"), (Texts{"", ""}));
  EXPECT_EQ(flat(""), Texts{});
}

TEST(PromptLines, BlankLinesAndCarriageReturnsDoNotCount) {
  EXPECT_EQ(flat("\n\r\n  {\"prompt\": \"a\", \"answer\": \"b\"} \r\n\t\n{\"prompt\": \"c\", \"answer\": \"d\"}\r\n\n"),
            (Texts{"a", "b", "c", "d"}));
}

TEST(PromptLines, UnescapesText) {
  EXPECT_EQ(flat(R"({"prompt": "\"\\\/\n\t\r\b\f", "answer": "\u00e9\ud83d\ude00\u0041"})"),
            (Texts{"\"\\/\n\t\r\b\f",
                   "\xc3\xa9\xf0\x9f\x98\x80"
                   "A"}));
  EXPECT_EQ(flat("{\"prompt\": \"\xc3\xa9\", \"answer\": \"\xe6\x97\xa5\"}"), (Texts{"\xc3\xa9", "\xe6\x97\xa5"}));
  EXPECT_EQ(flat(R"({"prompt": "a\u0000b", "answer": "c"})").front(), std::string("a\0b", 3));
}

TEST(PromptLines, RefusesALineWithItsNumber) {
  const std::string good = "{\"prompt\": \"a\", \"answer\": \"b\"}\n\n";
  const auto refused = [&](const std::string& line) {
    return usage_error_of([&] { flat(good + line + "\n" + good); });
  };
  const std::string legal = R"(a line has the keys "prompt" and "answer" (or "completion"), both with strings)";
  const auto expect_part = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect_part(refused(R"({"answer": "b"})"), "f.jsonl: line 3: no key \"prompt\"; " + legal);
  expect_part(refused(R"({"prompt": "b"})"), "f.jsonl: line 3: no key \"answer\"; " + legal);
  expect_part(refused("{}"), "f.jsonl: line 3: no key");
  expect_part(refused(R"({"prompt": "a", "answer": 5})"),
              "f.jsonl: line 3: \"answer\" must be a string, this is number");
  expect_part(refused(R"({"prompt": ["a"], "answer": "b"})"), "\"prompt\" must be a string, this is array");
  expect_part(refused(R"({"prompt": null, "answer": "b"})"), "\"prompt\" must be a string, this is null");
  expect_part(refused(R"({"prompt": "a", "answer": "b", "system": "c"})"), "line 3: unknown key \"system\"; " + legal);
  expect_part(refused(R"({"prompt": "a", "answer": "b", "completion": "c"})"), "two names for one key");
  expect_part(refused(R"({"prompt": "a", "prompt": "b", "answer": "c"})"), "line 3 has \"prompt\" twice");
  expect_part(refused(R"(["a", "b"])"), "line 3 must be a JSON object, this is array");
  expect_part(refused(R"({"prompt": "a", "answer": "b"} {})"), "line 3 is not JSON");
  expect_part(refused(R"({"prompt": "a)"), "line 3 is not JSON");
  expect_part(refused("{\"prompt\": \"\xff\", \"answer\": \"b\"}"), "line 3 is not JSON");
  expect_part(refused(R"({"prompt": "\ud800", "answer": "b"})"), "line 3 is not JSON");
}

}  // namespace
}  // namespace shardline
