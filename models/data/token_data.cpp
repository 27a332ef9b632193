#include "models/data/token_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/permutation.h"

namespace shardline {

TokenData::TokenData(const TokenDataOptions& options)
    : sequence_(options.sequence),
      vocab_(options.vocab),
      seed_(options.seed),
      document_end_(options.document_end),
      mixture_(weights_of(options.groups)),
      held_out_(options.sequence) {
  require(sequence_ >= 1, "sequences of {} tokens: they must have at least 1", sequence_);
  for (const FileGroup& group : options.groups) add_group(group, options);
  for (const std::string& path : options.held_out) {
    const std::shared_ptr<const TokenFile> file = open(path, options);
    held_out_.add(file, {0, TokenWindows::in_file(*file, sequence_)});
  }
  const bool from_groups = options.held_out.empty();
  require(held_out_.size() > 0, "{}: no sequence is held out; that takes {} tokens in one file, for sequences of {}{}",
          from_groups ? options.groups.front().files.front() : options.held_out.front(),
          (from_groups ? kHeldOutFraction : 1) * sequence_ + 1, sequence_,
          from_groups ? " of which the last tenth is held out" : "");
}

std::shared_ptr<const TokenFile> TokenData::open(const std::string& path, const TokenDataOptions& options) {
  const std::shared_ptr<const TokenFile> file =
      options.open ? options.open(path) : std::make_shared<const TokenFile>(path);
  const Index end = file->tokens();
  for (Index i = 0; i < std::min(end, sequence_ + 1); ++i) checked(*file, i);
  for (Index i = std::max<Index>(0, end - sequence_ - 1); i < end; ++i) checked(*file, i);
  files_.push_back(file);
  if (options.open) hashed_ += fmt::format("{:016x}\n", hash_of(file->bytes()));
  return file;
}

void TokenData::add_group(const FileGroup& group, const TokenDataOptions& options) {
  const bool holds_out = options.held_out.empty();
  TokenWindows windows(sequence_);
  for (const std::string& path : group.files) {
    const std::shared_ptr<const TokenFile> file = open(path, options);
    const Index all = TokenWindows::in_file(*file, sequence_);
    const Index training = all - (holds_out ? all / kHeldOutFraction : 0);
    windows.add(file, {0, training});
    held_out_.add(file, {training, all});
  }
  require(windows.size() > 0, "{}{}: no sequence to train on; one of {} tokens needs {} tokens of one file",
          group.files.front(), group.files.size() > 1 ? fmt::format(" and {} more", group.files.size() - 1) : "",
          sequence_, sequence_ + 1);
  groups_.push_back(std::move(windows));
}

Index TokenData::training_windows() const {
  Index sum = 0;
  for (const TokenWindows& group : groups_) sum += group.size();
  return sum;
}

std::int32_t TokenData::checked(const TokenFile& file, Index i) const {
  const std::uint32_t token = file.token(i);
  require(static_cast<Index>(token) < vocab_,
          "{}: the token at position {} is {}, but the model has a vocabulary of {}", file.path(), i, token, vocab_);
  return static_cast<std::int32_t>(token);
}

TokenWindows::Place TokenData::window(Series series, Index i) const {
  if (series == Series::held_out) {
    return held_out_.at(Permutation(held_out(), 0, "held-out tokens").at(i % held_out()));
  }
  const Mixture::Place place = mixture_.at(i);
  const TokenWindows& group = groups_[place.source];
  return group.at(shuffled_in_epochs(place.sample, group.size(), seed_, fmt::format("token files {}", place.source)));
}

bool TokenData::ends_document(const TokenFile& file, Index i) const {
  return document_end_ && static_cast<Index>(file.token(i)) == *document_end_;
}

/// That of token `i`.
std::int32_t TokenData::label(const TokenFile& file, Index i) const {
  return ends_document(file, i) ? -1 : checked(file, i + 1);
}

/// For some columns of a window, the columns at which their documents begin.
std::vector<std::int32_t> TokenData::starts(const TokenWindows::Place& window, Range columns) const {
  std::vector<std::int32_t> starts;
  Index start = 0;
  for (Index column = 0; column < columns.end; ++column) {
    if (column > 0 && ends_document(*window.file, window.first + column - 1)) start = column;
    if (column >= columns.begin) starts.push_back(static_cast<std::int32_t>(start));
  }
  return starts;
}

Tensor TokenData::block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const {
  SHARDLINE_CHECK(input < inputs() && dtype == DType::i32, "token files have {} inputs of i32, no input {} of {}",
                  inputs(), input, name_of(dtype));
  Tensor block(dtype, {samples.size(), columns.size()});
  auto next = block.view<std::int32_t>().begin();
  for (Index i = samples.begin; i < samples.end; ++i) {
    const TokenWindows::Place place = window(series, i);
    if (input == 2) {
      next = std::ranges::copy(starts(place, columns), next).out;
      continue;
    }
    for (Index column = columns.begin; column < columns.end; ++column) {
      const Index token = place.first + column;
      *next++ = input == 0 ? checked(*place.file, token) : label(*place.file, token);
    }
  }
  return block;
}

Index TokenData::masked_labels(Series series, Range samples) const {
  if (!document_end_) return 0;
  Index masked = 0;
  for (Index i = samples.begin; i < samples.end; ++i) {
    const auto [file, first] = window(series, i);
    for (Index token = first; token < first + sequence_; ++token) masked += ends_document(*file, token) ? 1 : 0;
  }
  return masked;
}

std::string TokenData::description() const {
  std::string all = hashed_;  // and what the order depends on
  for (const TokenWindows& group : groups_) all += fmt::format("{} ", group.size());
  std::vector<std::string> names;
  for (const auto& file : files_) {
    names.push_back(name_of_file(file->path()));
    all += fmt::format("{} {}\n", names.back(), file->tokens());
  }
  return fmt::format("tokens: {} to train on, {} held out; {}, hash {:016x}{}{}", training_windows() * sequence_,
                     held_out() * sequence_, shown_names(names), hash_of(all),
                     document_end_ ? fmt::format("; token {} ends documents", *document_end_) : "",
                     groups_.size() > 1 ? fmt::format("; weights {}", fmt::join(mixture_.weights(), ":")) : "");
}

}  // namespace shardline
