// Rank 0 reads the files of a model, and all ranks know the tokens that end a text, or throw.
#include "models/checkpoint/end_tokens.h"

#include <gtest/gtest.h>

#include "tests/models/temporary_folder.h"
#include "tests/models/tokens/made_tokenizer.h"

namespace shardline {
namespace {

TEST(EndTokens, AreANumberOrAList) {
  const auto parsed = [](const std::string& value) {
    return parse_end_tokens(R"({"model_type": "llama", "eos_token_id": )" + value + "}", "config.json");
  };
  EXPECT_EQ(parsed("2"), Ids{2});
  EXPECT_EQ(parsed("0"), Ids{0});
  EXPECT_EQ(parsed("[128001, 128008, 128009]"), (Ids{128001, 128008, 128009}));
  EXPECT_EQ(parsed("2147483647"), Ids{2147483647});
  EXPECT_EQ(parsed("null"), Ids{});
  EXPECT_EQ(parsed("[]"), Ids{});
  EXPECT_EQ(parse_end_tokens("{}", "config.json"), Ids{});
}

TEST(EndTokens, RefusesOtherValuesWithFileAndKey) {
  for (const char* value :
       {"\"2\"", "-1", "2.0", "2147483648", "18446744073709551615", "true", "{}", "[2, -1]", "[null]", "[[2]]"}) {
    const std::string text = fmt::format(R"({{"eos_token_id": {}}})", value);
    EXPECT_EQ(
        usage_error_of([&] { parse_end_tokens(text, "f/config.json"); }),
        fmt::format("f/config.json: eos_token_id is {}; it must be an id, a whole number from 0 to 2147483647, or "
                    "a list of ids",
                    nlohmann::json::parse(value).dump()));
  }
  for (const char* text : {"", "[]", "2", "{\"eos_token_id\": 2", R"({"eos_token_id": 2, "eos_token_id": 3})"}) {
    EXPECT_TRUE(usage_error_of([&] { parse_end_tokens(text, "f/config.json"); }).starts_with("f/config.json: "));
  }
}

/// A folder that only rank 0 writes to.
class EndTokensOfAFolder : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    if (world_.rank() == 0) own_.write(name, text);
  }
  std::string folder() const { return world_.broadcast(own_.path("model"), 0); }
  Ids ends(const TextEncoder& encoder = {}) const { return end_tokens_of(world_, folder(), encoder); }
  std::string refused() const {
    return usage_error_of([&] { ends(); });
  }

  mpi::Communicator world_ = mpi::Communicator::world();
  TemporaryFolder own_;
};

TEST_F(EndTokensOfAFolder, AreThoseOfBothFilesAndTheTokenizerInThisOrder) {
  write("model/config.json", R"({"eos_token_id": 9})");
  EXPECT_EQ(ends(), (Ids{9, 0}));  // byte 0
  write("model/generation_config.json", R"({"eos_token_id": [12, 9, 7, 12], "temperature": 0.6})");
  EXPECT_EQ(ends(), (Ids{9, 12, 7, 0}));
  nlohmann::json file = made_tokenizer();
  file["added_tokens"] = {added_token("<|eot_id|>", 256), added_token("</s>", 257)};
  EXPECT_EQ(ends(TextEncoder(file.dump(), "t.json")), (Ids{9, 12, 7, 257, 256}));
  write("model/config.json", R"({"eos_token_id": [256, 8]})");
  EXPECT_EQ(ends(TextEncoder(file.dump(), "t.json")), (Ids{256, 8, 12, 9, 7, 257}));
  write("model/config.json", "{}");
  EXPECT_EQ(ends(TextEncoder(file.dump(), "t.json")), (Ids{12, 9, 7, 257, 256}));
  write("model/generation_config.json", "{}");
  EXPECT_EQ(ends(TextEncoder(file.dump(), "t.json")), (Ids{257, 256}));
  EXPECT_EQ(ends(TextEncoder(made_tokenizer().dump(), "t.json")), Ids{});
}

TEST_F(EndTokensOfAFolder, BadFilesAreRefusedOnEveryRank) {
  const std::string config = folder() + "/config.json";
  const std::string generation = folder() + "/generation_config.json";
  EXPECT_TRUE(refused().starts_with(config + ": ")) << refused();
  write("model/config.json", R"({"eos_token_id": "2"})");
  EXPECT_TRUE(refused().starts_with(config + ": eos_token_id is \"2\"; ")) << refused();
  write("model/config.json", "{}");
  for (const char* text : {"", "no JSON"}) {
    write("model/generation_config.json", text);
    EXPECT_TRUE(refused().starts_with(generation + ": the configuration is not JSON")) << refused();
  }
  write("model/generation_config.json", R"({"eos_token_id": -1})");
  EXPECT_TRUE(refused().starts_with(generation + ": eos_token_id is -1; ")) << refused();
  if (world_.rank() == 0) {
    std::filesystem::remove(generation);
    std::filesystem::create_directory(generation);
  }
  EXPECT_TRUE(refused().starts_with(generation + ": ")) << refused();
  if (world_.rank() == 0) {
    std::filesystem::remove(generation);
    std::filesystem::create_symlink("nowhere.json", generation);
  }
  EXPECT_TRUE(refused().starts_with(generation + ": ")) << "a link to nothing: " << refused();
}

}  // namespace
}  // namespace shardline
