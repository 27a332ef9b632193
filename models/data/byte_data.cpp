#include "models/data/byte_data.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr std::size_t kBytes = 256;

Index length(std::span<const std::uint8_t> text) { return static_cast<Index>(text.size()); }

Sample cut(std::span<const std::uint8_t> text, Index start, Index sequence) {
  const auto window = text.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(sequence) + 1);
  return {{window.begin(), window.end() - 1}, {window.begin() + 1, window.end()}};
}

bool is_text(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 6> kEndings = {".h", ".cpp", ".md", ".sh", ".txt", ".cmake"};
  return std::find(kEndings.begin(), kEndings.end(), path.extension().string()) != kEndings.end();
}

bool is_hidden_or_built(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  std::error_code error;
  return name.starts_with('.') || name == "build" || std::filesystem::exists(folder / "CMakeCache.txt", error);
}

/// Looks for text in a folder. Nothing that it finds makes it fail.
class CorpusWalk {
 public:
  void folder(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::directory_iterator at(path, error);
    for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) entry(*at);
    if (error) ++skipped_;
  }

  std::vector<std::filesystem::path> files() const { return files_; }
  Index skipped() const { return skipped_; }

 private:
  void entry(const std::filesystem::directory_entry& at) {
    std::error_code error;
    const std::filesystem::path& path = at.path();
    const std::filesystem::file_status status = at.status(error);
    const bool is_folder = std::filesystem::is_directory(status);
    if (is_folder && is_hidden_or_built(path)) return;
    // A link in a circle has no type, so its name does not tell whether it could hold text.
    const bool circle = error == std::errc::too_many_symbolic_link_levels;
    if (!is_folder && !circle && !is_text(path)) return;
    if (circle || path.string().find('\n') != std::string::npos || (is_folder && at.is_symlink(error))) {
      ++skipped_;
    } else if (is_folder) {
      folder(path);
    } else if (!std::filesystem::is_regular_file(status) ||
               ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0) {
      ++skipped_;
    } else if (at.file_size(error) > 0 && !error) {
      files_.push_back(path);
    }
  }

  std::vector<std::filesystem::path> files_;
  Index skipped_ = 0;
};

}  // namespace

ByteData::ByteData(const std::vector<std::string>& files, Index sequence, std::uint64_t seed, const Reader& read)
    : sequence_(sequence), rng_(seed, "training samples") {
  require(sequence >= 1, "sequences of {} tokens: they must have at least 1", sequence);
  require(!files.empty(), "no data file given");
  for (const std::string& path : files) {
    const std::string text = read(path);
    require(!text.empty(), "{}: is empty, training needs text", path);
    const auto held_out = static_cast<std::ptrdiff_t>(text.size()) / kHeldOutFraction;
    training_.insert(training_.end(), text.begin(), text.end() - held_out);
    held_out_.insert(held_out_.end(), text.end() - held_out, text.end());
  }
  require(length(training_) > sequence && length(held_out_) > sequence,
          "{}{}: {} bytes for training and {} held out; sequences of {} tokens need at least {} of each", files.front(),
          files.size() > 1 ? fmt::format(" and {} more", files.size() - 1) : "", length(training_), length(held_out_),
          sequence, sequence + 1);
}

Sample ByteData::training_sample(Index i) const {
  return cut(training_, rng_.below(i, length(training_) - sequence_), sequence_);
}

Index ByteData::validation_samples() const { return (length(held_out_) - 1) / sequence_; }

Sample ByteData::validation_sample(Index i) const {
  SHARDLINE_CHECK(i >= 0 && i < validation_samples(), "validation sample {} of {}", i, validation_samples());
  return cut(held_out_, i * sequence_, sequence_);
}

Tensor ByteData::block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const {
  SHARDLINE_CHECK(input < 2 && dtype == DType::i32, "text has ids and labels of i32, no input {} of {}", input,
                  name_of(dtype));
  Tensor block(dtype, {samples.size(), columns.size()});
  for (Index i = samples.begin; i < samples.end; ++i) {
    const Sample sample = series == Series::training ? training_sample(i) : validation_sample(i % held_out());
    const std::vector<std::int32_t>& row = input == 0 ? sample.ids : sample.labels;
    std::copy_n(row.begin() + columns.begin, columns.size(),
                block.view<std::int32_t>().begin() + (i - samples.begin) * columns.size());
  }
  return block;
}

double ByteData::bigram_loss(Index samples) const {
  SHARDLINE_CHECK(samples >= 1 && samples <= validation_samples(), "{} validation samples of {}", samples,
                  validation_samples());
  const std::span<const std::uint8_t> held_out = held_out_;
  return shardline::bigram_loss(training_, held_out.first(static_cast<std::size_t>(samples * sequence_ + 1)));
}

double bigram_loss(std::span<const std::uint8_t> training, std::span<const std::uint8_t> held_out) {
  SHARDLINE_CHECK(held_out.size() >= 2, "a bigram loss over {} bytes", held_out.size());
  std::vector<double> pairs(kBytes * kBytes, 1.0);
  std::array<double, kBytes> firsts{};
  firsts.fill(kBytes);
  for (std::size_t i = 1; i < training.size(); ++i) {
    pairs[training[i - 1] * kBytes + training[i]] += 1;
    firsts[training[i - 1]] += 1;
  }
  double sum = 0;
  for (std::size_t i = 1; i < held_out.size(); ++i) {
    sum -= std::log(pairs[held_out[i - 1] * kBytes + held_out[i]] / firsts[held_out[i - 1]]);
  }
  return sum / static_cast<double>(held_out.size() - 1);
}

Corpus default_corpus(const std::string& root) {
  std::error_code error;
  require(std::filesystem::is_directory(root, error), "{}: no such folder to read sources and documentation from",
          root);
  CorpusWalk walk;
  walk.folder(root);
  std::vector<std::string> below;
  for (const auto& path : walk.files()) below.push_back(path.lexically_relative(root).generic_string());
  require(!below.empty(), "{}: no sources or documentation under it", root);
  std::sort(below.begin(), below.end());
  Corpus corpus{{}, walk.skipped()};
  for (const std::string& path : below) corpus.files.push_back((std::filesystem::path(root) / path).string());
  return corpus;
}

}  // namespace shardline
