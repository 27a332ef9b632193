#include "models/data/prompt_data.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/permutation.h"

namespace shardline {

PromptData::PromptData(const PromptDataOptions& options, TextEncoder& encoder, const Reader& read)
    : sequence_(options.sequence),
      seed_(options.seed),
      masks_prompts_(options.masks_prompts),
      holds_out_(options.held_out.empty()),
      mixture_(weights_of(options.groups)) {
  require(sequence_ >= 1, "sequences of {} tokens: they must have at least 1", sequence_);
  if (const std::vector<std::int32_t> ends = encoder.end_tokens(); !ends.empty()) end_ = ends.front();
  const Reading reading{encoder, read};
  hashed_ = encoder.description() + "\n";
  for (const FileGroup& group : options.groups) add_group(group, reading);
  for (const std::string& path : options.held_out) {
    const std::vector<Line> lines = read_lines(path, reading);
    held_out_.insert(held_out_.end(), lines.begin(), lines.end());
  }
  require(!held_out_.empty(), "{}: no line is held out{}",
          holds_out_ ? options.groups.front().files.front() : options.held_out.front(),
          holds_out_ ? fmt::format("; the last tenth of each file is, so a file needs {} lines with labels that count",
                                   kHeldOutFraction)
                     : "; it has none with a label that counts");
}

void PromptData::add_group(const FileGroup& group, const Reading& reading) {
  std::deque<Line> training;
  const Index before = left_out_;
  for (const std::string& path : group.files) {
    const std::vector<Line> lines = read_lines(path, reading);
    const auto count = static_cast<Index>(lines.size());
    const auto end = lines.begin() + (count - (holds_out_ ? count / kHeldOutFraction : 0));
    training.insert(training.end(), lines.begin(), end);
    held_out_.insert(held_out_.end(), end, lines.end());
  }
  require(!training.empty(), "{}{}: no line to train on{}", group.files.front(),
          group.files.size() > 1 ? fmt::format(" and {} more", group.files.size() - 1) : "",
          left_out_ > before ? fmt::format("; no label of its {} lines counts in sequences of {} tokens",
                                           left_out_ - before, sequence_)
                             : "");
  hashed_ += fmt::format("group of {} lines\n", training.size());
  groups_.push_back(std::move(training));
}

std::vector<PromptData::Line> PromptData::read_lines(const std::string& path, const Reading& reading) {
  const std::string text = reading.read(path);
  names_.push_back(name_of_file(path));
  hashed_ += fmt::format("{} {:016x}\n", names_.back(), hash_of(text));
  std::vector<Line> lines;
  for_each_prompt_line(text, path, [&](const PromptLine& each) {
    const Line line = append(each, reading);
    if (line.first < line.tokens) {
      lines.push_back(line);
    } else {
      tokens_.resize(line.begin);
      ++left_out_;
    }
  });
  return lines;
}

PromptData::Line PromptData::append(const PromptLine& line, const Reading& reading) {
  const std::size_t begin = tokens_.size();
  std::vector<std::int32_t> tokens = reading.encoder.encode(line.prompt);
  const auto prompt = static_cast<Index>(tokens.size());
  const std::vector<std::int32_t> answer = reading.encoder.encode(line.answer);
  tokens.insert(tokens.end(), answer.begin(), answer.end());
  if (end_) tokens.push_back(*end_);
  const auto whole = static_cast<Index>(tokens.size());
  const Index kept = std::min(whole, sequence_ + 1);
  if (kept < whole) ++cut_;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.begin() + kept);
  return {begin, kept, std::max<Index>(1, masks_prompts_ ? prompt : 0)};
}

const PromptData::Line& PromptData::line(Series series, Index i) const {
  if (series == Series::held_out) {
    const Permutation order(held_out(), 0, "held-out lines");
    return held_out_[static_cast<std::size_t>(order.at(i % held_out()))];
  }
  const Mixture::Place place = mixture_.at(i);
  const std::deque<Line>& group = groups_[place.source];
  const Index at =
      shuffled_in_epochs(place.sample, static_cast<Index>(group.size()), seed_, fmt::format("lines {}", place.source));
  return group[static_cast<std::size_t>(at)];
}

Tensor PromptData::block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const {
  SHARDLINE_CHECK(input < 2 && dtype == DType::i32, "lines have ids and labels of i32, no input {} of {}", input,
                  name_of(dtype));
  Tensor block(dtype, {samples.size(), columns.size()});
  auto next = block.view<std::int32_t>().begin();
  const bool labels = input == 1;
  for (Index i = samples.begin; i < samples.end; ++i) {
    const Line& from = line(series, i);
    for (Index column = columns.begin; column < columns.end; ++column) {
      const Index token = labels ? column + 1 : column;
      const bool there = token < from.tokens && (!labels || token >= from.first);
      *next++ = there ? tokens_[from.begin + static_cast<std::size_t>(token)] : (labels ? -1 : 0);
    }
  }
  return block;
}

Index PromptData::masked_labels(Series series, Range samples) const {
  Index masked = 0;
  for (Index i = samples.begin; i < samples.end; ++i) {
    const Line& each = line(series, i);
    masked += sequence_ - (each.tokens - each.first);
  }
  return masked;
}

Index PromptData::training_lines() const {
  Index sum = 0;
  for (const std::deque<Line>& group : groups_) sum += static_cast<Index>(group.size());
  return sum;
}

std::string PromptData::description() const {
  return fmt::format("lines: {} to train on, {} held out, prompts {}; {}, hash {:016x}; {}{}", training_lines(),
                     held_out(), masks_prompts_ ? "masked" : "count too", shown_names(names_), hash_of(hashed_),
                     end_ ? fmt::format("end token {}", *end_) : "no end token",
                     groups_.size() > 1 ? fmt::format("; weights {}", fmt::join(mixture_.weights(), ":")) : "");
}

}  // namespace shardline
