#include "tools/tokens/encoded_texts.h"

#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "tools/tokens/tokenizer_option.h"

namespace shardline::tools {
namespace {

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
  Collector(const std::vector<std::string>& files, std::size_t width) : files_(files), width_(width) {}

  void add(std::string_view message) {
    const std::size_t ends = number_at(message, 0);
    const std::string_view tokens = message.substr((1 + ends) * sizeof(std::size_t));
    std::size_t done = 0;
    for (std::size_t i = 0; i < ends; ++i) {
      const std::size_t end = number_at(message, 1 + i) * width_;
      open_.append(tokens.substr(done, end - done));
      done = end;
      const std::string& path = files_[tokens_.size()];
      open_.shrink_to_fit();
      tokens_[path] = std::make_shared<const TokenFile>(path, std::exchange(open_, {}), width_);
    }
    open_.append(tokens.substr(done));
  }

  std::map<std::string, std::shared_ptr<const TokenFile>> tokens() { return std::move(tokens_); }

 private:
  const std::vector<std::string>& files_;  ///< each once, in order
  std::size_t width_;
  std::string open_;  ///< of the file that has not ended
  std::map<std::string, std::shared_ptr<const TokenFile>> tokens_;
};

}  // namespace

EncodedTexts encode_texts(const mpi::Communicator& world, const std::vector<std::string>& files, TextEncoder& encoder) {
  const std::size_t width = token_width(encoder.vocabulary_size());
  const auto series = open_series(world, {.files = files}, encoder);
  EncodedTexts result{.tokens = {}, .bytes = series->bytes(), .count = 0, .width = width};
  Collector collector(files, width);
  encode_in_rounds(*series, text_ranks(world), block_of_round(series->bytes(), world.size()),
                   [&](const TextRound& round) {
                     for (const std::string& message : world.all_gather_bytes(message_of(round.part, width))) {
                       collector.add(message);
                     }
                   });
  result.tokens = collector.tokens();
  for (const auto& [path, tokens] : result.tokens) result.count += tokens->tokens();
  return result;
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
