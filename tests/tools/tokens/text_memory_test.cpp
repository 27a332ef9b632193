// The memory that is expected for texts, against what the program asks the system for: every `new` is counted.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <optional>

#include "models/data/prompt_data.h"
#include "tests/models/temporary_folder.h"
#include "tests/models/tokens/made_tokenizer.h"
#include "tools/tokens/encoded_texts.h"
#include "tools/training/data_options.h"

namespace {

std::atomic<std::int64_t> held_bytes = 0;
std::atomic<std::int64_t> most_bytes = 0;

void count(std::int64_t bytes) {
  held_bytes += bytes;
  most_bytes = std::max(most_bytes.load(), held_bytes.load());
}

}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  count(static_cast<std::int64_t>(::malloc_usable_size(memory)));
  return memory;
}

void operator delete(void* memory) noexcept {
  count(-static_cast<std::int64_t>(::malloc_usable_size(memory)));
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace shardline::tools {
namespace {

/// The most memory that was held at once during `body`, beyond what was held before.
template <class Body>
double most_during(Body body) {
  const std::int64_t before = held_bytes;
  most_bytes = before;
  body();
  return static_cast<double>(most_bytes - before);
}

class TextMemory : public testing::Test {
 protected:
  TextMemory() {
    if (world_.rank() == 0) own_.emplace();
    folder_ = world_.broadcast(own_ ? own_->path() : "", 0);
  }
  ~TextMemory() override { world_.barrier(); }

  /// Collective over all ranks.
  std::string write(const std::string& name, const std::string& bytes) {
    if (own_) own_->write(name, bytes);
    world_.barrier();
    return folder_ + "/" + name;
  }

  /// Collective over all ranks.
  void expect_bound(double used, double expected, const std::string& what) const {
    RecordProperty(what, std::to_string(used / expected));
    EXPECT_LE(used, expected) << what;
    EXPECT_GE(-world_.min(-used), expected / 4) << what << ": far more is expected than is used";
  }

  const mpi::Communicator world_ = mpi::Communicator::world();

 private:
  std::optional<TemporaryFolder> own_;
  std::string folder_;
};

/// A tokenizer without merges: a byte is a token. `wide`: of four bytes. `cuts`: texts can be cut.
TextEncoder byte_tokenizer(bool wide, bool cuts) {
  nlohmann::json file = made_tokenizer();
  nlohmann::json& vocabulary = file["model"]["vocab"];
  while (wide && vocabulary.size() < 70000) vocabulary["z" + std::to_string(vocabulary.size())] = vocabulary.size();
  if (!cuts) file["added_tokens"] = {added_token("<|end|>", 256)};
  if (!cuts) file["added_tokens"][0]["lstrip"] = true;
  return {file.dump(), "t.json"};
}

TEST_F(TextMemory, OfTextWithATokenForEachByte) {
  std::string words;
  while (words.size() < 6'000'000) words += "a small word ";
  words.resize(6'000'000);
  std::string digits;  // every byte is a word too
  while (digits.size() < 3'000'000) digits += "1.";
  const std::vector<std::string> files{write("words.txt", words), write("digits.txt", digits)};
  const DataOptions data{.texts = {}, .tokens = {{files}}, .lines = {}, .held_out = {}, .encodes = true};
  for (const bool wide : {false, true}) {
    for (const bool cuts : {true, false}) {
      if (wide && !cuts) continue;
      TextEncoder encoder = byte_tokenizer(wide, cuts);
      ASSERT_EQ(encoder.tokenizer()->can_cut(), cuts);
      const double expected = text_memory(world_, data, &encoder).value;
      EncodedTexts texts;
      const double used = most_during([&] { texts = encode_texts(world_, encoded_files(data), encoder); });
      EXPECT_EQ(texts.count, 9'000'000);
      expect_bound(used, expected, fmt::format("texts, {}, {}", wide ? "wide" : "narrow", cuts ? "cut" : "whole"));
    }
  }
}

TEST_F(TextMemory, OfPromptsAndAnswers) {
  std::string shortest;
  for (int i = 0; i < 100'000; ++i) shortest += "{\"prompt\":\"\",\"answer\":\"a\"}\n";
  std::string longer;
  for (int i = 0; i < 1000; ++i) {
    longer += "{\"prompt\":\"" + std::string(1000, 'p') + "\",\"answer\":\"" + std::string(3000, 'a') + "\"}\n";
  }
  for (const std::string& text : {shortest, longer}) {
    const std::string path = write("a.jsonl", text);
    const DataOptions data{.texts = {}, .tokens = {}, .lines = {{{path}}}, .held_out = {}};
    const double expected = text_memory(world_, data, nullptr).value;
    TextEncoder bytes;
    const double used = most_during([&] {
      const PromptData lines({.groups = data.lines, .sequence = 8000, .seed = 1}, bytes, [&](const std::string& file) {
        return mpi::on_root(world_, 0, [&] { return read_file(file); });
      });
      EXPECT_EQ(lines.left_out(), 0);
    });
    expect_bound(used, expected, text == shortest ? "shortest lines" : "long lines");
  }
}

}  // namespace
}  // namespace shardline::tools
