// Makes tokenizers, and checks token files that `shardline tokenize` wrote.
//
//   tokens_check make FILE small|large|other|chat writes a tokenizer.json; "large" needs four bytes a token, "chat" has
//                                                 two tokens that end a text
//   tokens_check check TOKENIZER END BIN TEXT...  the file has the tokens of the whole texts, each followed by the id
//   END
//                                                 (-1: by none)
//
// It reads the file byte by byte by its own code. Exit code 1 and a line say what is wrong.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/models/tokens/made_tokenizer.h"

namespace shardline {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void make(const std::string& path, const std::string& kind) {
  nlohmann::json file = made_tokenizer({{"t", "h"}, {"th", "e"}, {" ", "the"}, {"i", "n"}, {"\n", "\n"}, {"e", " "}});
  file["normalizer"] = {{"type", "NFC"}};
  if (kind == "other") file["model"]["merges"].erase(0);
  nlohmann::json& vocabulary = file["model"]["vocab"];
  while (kind == "large" && vocabulary.size() < 70000)
    vocabulary["z" + std::to_string(vocabulary.size())] = vocabulary.size();
  const auto next = static_cast<int>(vocabulary.size());
  file["added_tokens"] = {added_token("<|end|>", next)};
  if (kind == "chat") {
    file["added_tokens"] = {added_token("<|end_of_text|>", next), added_token("<|eot_id|>", next + 1)};
  }
  std::ofstream(path) << file.dump();
}

std::uint64_t number(const std::string& bytes, std::size_t place, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value * 256 + static_cast<unsigned char>(bytes.at(place + i));
  return value;
}

std::string fault_of(const std::string& tokenizer_path, std::int32_t end, const std::string& path,
                     const std::vector<std::string>& texts) {
  Tokenizer tokenizer(tokenizer_path);
  std::vector<std::int32_t> expected;
  for (const std::string& text : texts) {
    const std::vector<std::int32_t> ids = tokenizer.encode(bytes_of(text));
    expected.insert(expected.end(), ids.begin(), ids.end());
    if (end >= 0) expected.push_back(end);
  }
  const std::string bytes = bytes_of(path);
  const bool large = tokenizer.vocabulary_size() > 65536;
  const std::size_t width = large ? 4 : 2;
  if (bytes.size() != 1024 + width * expected.size()) return "the size is wrong";
  if (number(bytes, 0, 4) != (large ? 20240801U : 20240520U)) return "the magic number is wrong";
  if (number(bytes, 4, 4) != (large ? 7U : 1U)) return "the version is wrong";
  if (number(bytes, 8, 4) != expected.size()) return "the number of tokens is wrong";
  for (std::size_t i = 12; i < 1024; ++i) {
    if (bytes[i] != 0) return "the header is not zero after its numbers";
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (number(bytes, 1024 + i * width, width) != static_cast<std::uint64_t>(expected[i])) {
      return "token " + std::to_string(i) + " is wrong";
    }
  }
  return "";
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.at(0) == "make") {
    make(arguments.at(1), arguments.at(2));
    return 0;
  }
  const std::string fault =
      fault_of(arguments.at(1), std::stoi(arguments.at(2)), arguments.at(3), {arguments.begin() + 4, arguments.end()});
  if (!fault.empty()) std::printf("%s: %s\n", arguments[3].c_str(), fault.c_str());
  return fault.empty() ? 0 : 1;
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  try {
    return shardline::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::printf("tokens_check: %s\n", error.what());
    return 2;
  }
}
