// Encodes documents with a tokenizer and writes their ids, for benchmarks/tokenizer/run.sh.
//
//   tokenizer_benchmark TOKENIZER DOCUMENTS IDS ROUNDS
//
// DOCUMENTS holds documents one after the other: the number of bytes (uint32), then the bytes. IDS gets, for each, the
// number of ids (uint32) and the ids (int32). Prints the seconds of each round, one on a line.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "models/tokens/tokenizer.h"
#include "runtime/base/check.h"
#include "runtime/host/files.h"

namespace shardline {
namespace {

std::vector<std::string_view> documents_of(std::string_view bytes) {
  std::vector<std::string_view> documents;
  while (!bytes.empty()) {
    std::uint32_t size = 0;
    require(bytes.size() >= sizeof size, "the last document is cut off");
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    require(bytes.size() >= size, "the last document is cut off");
    documents.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return documents;
}

double seconds_of_round(Tokenizer& tokenizer, const std::vector<std::string_view>& documents,
                        std::vector<std::vector<std::int32_t>>& ids) {
  ids.clear();
  const auto start = std::chrono::steady_clock::now();
  for (const std::string_view document : documents) ids.push_back(tokenizer.encode_with_special_tokens(document));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void write_ids(const std::vector<std::vector<std::int32_t>>& ids, const std::string& path) {
  WholeFile file(path);
  for (const std::vector<std::int32_t>& of_document : ids) {
    const auto count = static_cast<std::uint32_t>(of_document.size());
    file.write(&count, sizeof count);
    file.write(of_document.data(), of_document.size() * sizeof(std::int32_t));
  }
  file.commit();
}

void run(const std::vector<std::string>& arguments) {
  require(arguments.size() == 4, "usage: tokenizer_benchmark TOKENIZER DOCUMENTS IDS ROUNDS");
  Tokenizer tokenizer(arguments[0]);
  const std::string bytes = read_file(arguments[1]);
  const std::vector<std::string_view> documents = documents_of(bytes);
  std::vector<std::vector<std::int32_t>> ids;
  for (int rounds = std::stoi(arguments[3]); rounds > 0; --rounds) {
    std::printf("%.6f\n", seconds_of_round(tokenizer, documents, ids));
  }
  write_ids(ids, arguments[2]);
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  try {
    shardline::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tokenizer_benchmark: %s\n", error.what());
    return 2;
  }
  return 0;
}
