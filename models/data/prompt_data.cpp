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
      packs_(options.packs),
      holds_out_(options.held_out.empty()),
      mixture_(weights_of(options.groups)) {
  require(sequence_ >= 1, "sequences of {} tokens: they must have at least 1", sequence_);
  if (const std::vector<std::int32_t> ends = encoder.end_tokens(); !ends.empty()) end_ = ends.front();
  const Reading reading{encoder, read};
  hashed_ = encoder.description() + "\n";
  for (const FileGroup& group : options.groups) add_group(group, reading);
  for (const std::string& path : options.held_out) {
    for (const Line& line : read_lines(path, reading)) add_line(line, held_out_);
  }
  require(held_out_.size() > 0, "{}: no line is held out{}",
          holds_out_ ? options.groups.front().files.front() : options.held_out.front(),
          holds_out_ ? fmt::format("; the last tenth of each file is, so a file needs {} lines with labels that count",
                                   kHeldOutFraction)
                     : "; it has none with a label that counts");
}

void PromptData::add_group(const FileGroup& group, const Reading& reading) {
  Samples training;
  const Index before = left_out_;
  for (const std::string& path : group.files) {
    const std::vector<Line> lines = read_lines(path, reading);
    const auto count = static_cast<Index>(lines.size());
    const auto end = lines.begin() + (count - (holds_out_ ? count / kHeldOutFraction : 0));
    for (auto line = lines.begin(); line != lines.end(); ++line) add_line(*line, line < end ? training : held_out_);
  }
  require(training.size() > 0, "{}{}: no line to train on{}", group.files.front(),
          group.files.size() > 1 ? fmt::format(" and {} more", group.files.size() - 1) : "",
          left_out_ > before ? fmt::format("; no label of its {} lines counts in sequences of {} tokens",
                                           left_out_ - before, sequence_)
                             : "");
  hashed_ += fmt::format("group of {} lines\n", training.lines.size());
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

void PromptData::add_line(const Line& line, Samples& samples) const {
  const bool joins = packs_ && samples.size() > 0 && samples.filled + line.tokens <= sequence_ + 1;
  if (!joins) samples.begins.push_back(samples.lines.size());
  samples.filled = (joins ? samples.filled : 0) + line.tokens;
  samples.lines.push_back(line);
}

PromptData::Lines PromptData::Samples::at(Index i) const {
  const auto sample = static_cast<std::size_t>(i);
  const std::size_t end = sample + 1 < begins.size() ? begins[sample + 1] : lines.size();
  return {lines.begin() + static_cast<std::ptrdiff_t>(begins[sample]),
          lines.begin() + static_cast<std::ptrdiff_t>(end)};
}

PromptData::Lines PromptData::lines_of(Series series, Index i) const {
  if (series == Series::held_out) return held_out_.at(Permutation(held_out(), 0, "held-out lines").at(i % held_out()));
  const Mixture::Place place = mixture_.at(i);
  const Samples& group = groups_[place.source];
  return group.at(shuffled_in_epochs(place.sample, group.size(), seed_, fmt::format("lines {}", place.source)));
}

/// All places of an input of a sample.
std::vector<std::int32_t> PromptData::row(std::size_t input, const Lines& lines) const {
  std::vector<std::int32_t> row(static_cast<std::size_t>(sequence_), input == 1 ? -1 : 0);
  Index begin = 0;
  for (const Line& line : lines) {
    const auto first = tokens_.begin() + static_cast<std::ptrdiff_t>(line.begin);
    const auto into = row.begin() + begin;
    if (input == 0) std::copy_n(first, std::min(line.tokens, sequence_ - begin), into);
    if (input == 1) std::copy(first + line.first, first + line.tokens, into + line.first - 1);
    if (input == 2) std::fill(into, row.end(), static_cast<std::int32_t>(begin));
    begin += line.tokens;
  }
  // The padding.
  if (input == 2 && begin < sequence_) std::fill(row.begin() + begin, row.end(), static_cast<std::int32_t>(begin));
  return row;
}

Tensor PromptData::block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const {
  SHARDLINE_CHECK(input < inputs() && dtype == DType::i32, "lines have {} inputs of i32, no input {} of {}", inputs(),
                  input, name_of(dtype));
  Tensor block(dtype, {samples.size(), columns.size()});
  auto next = block.view<std::int32_t>().begin();
  for (Index i = samples.begin; i < samples.end; ++i) {
    const std::vector<std::int32_t> whole = row(input, lines_of(series, i));
    next = std::copy(whole.begin() + columns.begin, whole.begin() + columns.end, next);
  }
  return block;
}

Index PromptData::masked_labels(Series series, Range samples) const {
  Index masked = 0;
  for (Index i = samples.begin; i < samples.end; ++i) {
    masked += sequence_;
    for (const Line& line : lines_of(series, i)) masked -= line.tokens - line.first;
  }
  return masked;
}

Index PromptData::training_lines() const {
  Index sum = 0;
  for (const Samples& group : groups_) sum += static_cast<Index>(group.lines.size());
  return sum;
}

Index PromptData::training_samples() const {
  Index sum = 0;
  for (const Samples& group : groups_) sum += group.size();
  return sum;
}

std::string PromptData::description() const {
  const std::string packs =
      packs_ ? fmt::format("packed into {} and {} sequences, ", training_samples(), held_out()) : "";
  return fmt::format("lines: {} to train on, {} held out, {}prompts {}; {}, hash {:016x}; {}{}", training_lines(),
                     held_out_.lines.size(), packs, masks_prompts_ ? "masked" : "count too", shown_names(names_),
                     hash_of(hashed_), end_ ? fmt::format("end token {}", *end_) : "no end token",
                     groups_.size() > 1 ? fmt::format("; weights {}", fmt::join(mixture_.weights(), ":")) : "");
}

}  // namespace shardline
