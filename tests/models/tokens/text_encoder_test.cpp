#include "models/tokens/text_encoder.h"

#include <gtest/gtest.h>

#include "runtime/base/check.h"
#include "tests/models/tokens/made_tokenizer.h"

namespace shardline {
namespace {

TEST(TextEncoder, TakesBytesAsTokens) {
  TextEncoder bytes;
  EXPECT_TRUE(bytes.reads_bytes());
  EXPECT_EQ(bytes.vocabulary_size(), 256);
  EXPECT_EQ(bytes.encode("a\xFF"), (Ids{'a', 255}));
  EXPECT_EQ(bytes.decode({'a', 255}), "a\xFF");
  EXPECT_TRUE(bytes.has(255));
  EXPECT_FALSE(bytes.has(256));
  EXPECT_FALSE(bytes.has(-1));
  EXPECT_THROW(bytes.decode({256}), UsageError);
  EXPECT_EQ(bytes.description(), "bytes");
}

TEST(TextEncoder, TakesATokenizer) {
  nlohmann::json file = made_tokenizer({{"a", "b"}});
  file["added_tokens"] = {added_token("<s>", 257)};
  TextEncoder encoder(file.dump(), "t.json");
  EXPECT_FALSE(encoder.reads_bytes());
  EXPECT_EQ(encoder.vocabulary_size(), 258);
  EXPECT_EQ(encoder.encode("abc<s>"), (Ids{256, 'c', 257}));
  EXPECT_EQ(encoder.decode({256, 'c', 257}), "abc<s>");
  EXPECT_TRUE(encoder.has(257));
  EXPECT_FALSE(encoder.has(258));
  EXPECT_EQ(encoder.json(), file.dump());
  EXPECT_EQ(encoder.description(), TextEncoder(file.dump(), "other.json").description());
  EXPECT_NE(encoder.description(), TextEncoder(made_tokenizer({{"a", "c"}}).dump(), "t.json").description());
  EXPECT_THROW(TextEncoder("{}", "t.json"), UsageError);
}

TEST(TextEncoder, KnowsAllTokensThatEndATextTheFirstInFront) {
  nlohmann::json file = made_tokenizer();
  const auto ends = [&] { return TextEncoder(file.dump(), "t.json").end_tokens(); };
  EXPECT_EQ(TextEncoder().end_tokens(), Ids{0});
  EXPECT_EQ(ends(), Ids{});
  file["added_tokens"] = {added_token("<|eot_id|>", 256), added_token("<|begin_of_text|>", 257),
                          added_token("<|end_of_text|>", 258)};
  EXPECT_EQ(ends(), (Ids{258, 256}));
  file["added_tokens"] = {added_token("<|im_end|>", 256), added_token("</s>", 257), added_token("<|endoftext|>", 258)};
  EXPECT_EQ(ends(), (Ids{258, 257, 256}));
}

}  // namespace
}  // namespace shardline
