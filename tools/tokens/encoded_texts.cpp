#include "tools/tokens/encoded_texts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "tools/tokens/text_rounds.h"

namespace shardline::tools {
namespace {

/// Bytes of text that all ranks together encode in a round: each rank holds their tokens.
constexpr Index kMostOfRound = 64 << 20;

/// What one rank sends of a round: the number of files that end in its part, their ends, and the tokens.
std::string message_of(const EncodedPart& part, std::size_t width) {
  const std::size_t files = part.file_ends.size();
  std::string message(reinterpret_cast<const char*>(&files), sizeof files);
  message.append(reinterpret_cast<const char*>(part.file_ends.data()), files * sizeof(std::size_t));
  return message + packed_tokens(part.ids, width);
}

std::size_t number_at(std::string_view message, std::size_t index) {
  std::size_t value = 0;
  std::memcpy(&value, message.data() + index * sizeof value, sizeof value);
  return value;
}

/// Puts the tokens of all parts together again, file by file.
class Collector {
 public:
  Collector(const std::vector<std::string>& files, const TextSeries& series, std::size_t width)
      : files_(files), series_(series), width_(width) {}

  void add(std::string_view message) {
    const std::size_t ends = number_at(message, 0);
    const std::string_view tokens = message.substr((1 + ends) * sizeof(std::size_t));
    std::size_t done = 0;
    for (std::size_t i = 0; i < ends; ++i) {
      const std::size_t end = number_at(message, 1 + i) * width_;
      append(tokens.substr(done, end - done));
      done = end;
      const std::string& path = files_[tokens_.size()];
      tokens_[path] = std::make_shared<const TokenFile>(path, std::exchange(open_, {}), width_);
    }
    append(tokens.substr(done));
  }

  std::map<std::string, std::shared_ptr<const TokenFile>> tokens() { return std::move(tokens_); }

 private:
  /// Adds tokens to the open file. Its first tokens reserve room for one token a byte. The system gives memory only to
  /// what is used of it, and a text that grows would need three times its size.
  void append(std::string_view tokens) {
    if (tokens.empty()) return;
    if (open_.empty()) open_.reserve(static_cast<std::size_t>(series_.bytes_of(tokens_.size())) * width_);
    open_.append(tokens);
  }

  const std::vector<std::string>& files_;  ///< each once, in order
  const TextSeries& series_;               ///< of the files
  std::size_t width_;
  std::string open_;  ///< of the file that has not ended
  std::map<std::string, std::shared_ptr<const TokenFile>> tokens_;
};

}  // namespace

EncodedTexts encode_texts(const mpi::Communicator& world, const std::vector<std::string>& files, TextEncoder& encoder) {
  const std::size_t width = token_width(encoder.vocabulary_size());
  const auto series = open_series(world, {.files = files}, encoder);
  EncodedTexts result{.tokens = {}, .bytes = series->bytes(), .count = 0, .width = width};
  Collector collector(files, *series, width);
  const Index block = block_of_round(series->bytes(), world.size(), kMostOfRound);
  encode_in_rounds(*series, world, block, [&](const TextRound& round) {
    for (const std::string& message : world.all_gather_bytes(message_of(round.part, width))) collector.add(message);
  });
  result.tokens = collector.tokens();
  for (const auto& [path, tokens] : result.tokens) result.count += tokens->tokens();
  return result;
}

Bytes encoding_memory(const std::vector<Index>& files, int ranks, const TextEncoder& encoder) {
  constexpr Index kOfPart = 20;     // ids of four bytes in lists that grow, and the message with them
  constexpr Index kOfWindow = 200;  // as many words as bytes, and their places
  constexpr Index kOfFile = 1024;
  Index bytes = 0;
  Index largest = 0;
  for (const Index file : files) {
    bytes += file;
    largest = std::max(largest, file);
  }
  Index block = block_of_round(bytes, ranks, kMostOfRound);
  if (!encoder.tokenizer()->can_cut()) block += largest;  // a rank encodes a file to its end
  block = std::min(block, bytes);
  const Index round = std::min(block * ranks, bytes);
  const auto width = static_cast<Index>(token_width(encoder.vocabulary_size()));
  const Index part = kOfPart * block + kOfWindow * std::min(block, kTextWindow);
  return Bytes(static_cast<double>(width * (bytes + round) + part + kOfFile * static_cast<Index>(files.size())));
}

std::unique_ptr<TextSeries> open_series(const mpi::Communicator& world, const TextSeriesOptions& options,
                                        TextEncoder& encoder) {
  const int rank = world.rank();
  std::unique_ptr<TextSeries> series;
  mpi::on_all(world, [&] {
    try {
      series = std::make_unique<TextSeries>(options, *encoder.tokenizer());
    } catch (const UsageError& error) {
      if (rank == 0) throw;
      usage_error("rank {}: {}", rank, error.what());
    }
  });
  const std::string first = world.broadcast(std::to_string(series->bytes()), 0);
  mpi::on_all(world, [&] {
    require(first == std::to_string(series->bytes()), "--data: rank {} sees {} bytes of text, rank 0 sees {}", rank,
            series->bytes(), first);
  });
  return series;
}

}  // namespace shardline::tools
