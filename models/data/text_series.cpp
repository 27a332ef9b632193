#include "models/data/text_series.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/architecture/strict_json.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr std::size_t kMostCuts = 4096;  // that a part remembers
constexpr std::size_t kSmallWindow = 4 << 10;

Index size_of_text(std::string_view text) { return static_cast<Index>(text.size()); }

EncodedPart::Cut end_of(const EncodedPart& part) {
  return {part.end, part.ids.size(), part.documents, part.file_ends.size()};
}

/// Adds cuts to those of the part, unless it has many.
void remember(const std::vector<EncodedPart::Cut>& cuts, EncodedPart& part) {
  const std::size_t room = kMostCuts - std::min(kMostCuts, part.cuts.size());
  part.cuts.insert(part.cuts.end(), cuts.begin(),
                   cuts.begin() + static_cast<std::ptrdiff_t>(std::min(room, cuts.size())));
}

/// Lets `lead` end with its cut, and `tail` go on from the same one.
EncodedPart joined(EncodedPart lead, const EncodedPart::Cut& lead_cut, const EncodedPart& tail,
                   std::vector<EncodedPart::Cut>::const_iterator tail_cut) {
  const auto shift = [&](std::size_t ids) { return ids - tail_cut->ids + lead_cut.ids; };
  lead.end = tail.end;
  lead.ids.resize(lead_cut.ids);
  lead.ids.insert(lead.ids.end(), tail.ids.begin() + static_cast<std::ptrdiff_t>(tail_cut->ids), tail.ids.end());
  lead.documents = lead_cut.documents + tail.documents - tail_cut->documents;
  lead.file_ends.resize(lead_cut.files);
  for (std::size_t i = tail_cut->files; i < tail.file_ends.size(); ++i) {
    lead.file_ends.push_back(shift(tail.file_ends[i]));
  }
  for (auto cut = tail_cut; cut != tail.cuts.end(); ++cut) {
    lead.cuts.push_back({cut->position, shift(cut->ids), cut->documents - tail_cut->documents + lead_cut.documents,
                         cut->files - tail_cut->files + lead_cut.files});
  }
  return lead;
}

}  // namespace

TextSeries::TextSeries(TextSeriesOptions options, Tokenizer& tokenizer)
    : options_(std::move(options)), tokenizer_(tokenizer), starts_{0} {
  for (const std::string& path : options_.files) {
    files_.push_back(std::make_unique<MappedFile>(path));
    starts_.push_back(starts_.back() + size_of_text(files_.back()->bytes()) + 1);
  }
}

TextSeries::Place TextSeries::place_of(Index position) const {
  SHARDLINE_CHECK(position >= 0 && position < size(), "position {} of {}", position, size());
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), position);
  const auto file = static_cast<std::size_t>(next - starts_.begin()) - 1;
  return {file, files_[file]->bytes().substr(static_cast<std::size_t>(position - starts_[file]))};
}

bool TextSeries::has_lines(std::size_t file) const {
  return options_.json_lines && options_.files[file].ends_with(".jsonl");
}

Index TextSeries::guess(Index begin) const {
  if (begin >= size()) return size();
  const auto [file, rest] = place_of(begin);
  if (begin == starts_[file]) return begin;
  if (has_lines(file)) {
    const auto before = place_of(begin - 1).rest;
    const std::size_t line_end = before.find('\n');
    return line_end == std::string_view::npos ? begin + size_of_text(rest) : begin + static_cast<Index>(line_end);
  }
  if (!tokenizer_.can_cut()) return begin + size_of_text(rest);
  std::size_t skipped = 0;
  while (skipped < std::min<std::size_t>(3, rest.size()) &&
         (static_cast<unsigned char>(rest[skipped]) & 0xC0) == 0x80) {
    ++skipped;
  }
  return begin + static_cast<Index>(skipped);
}

EncodedPart TextSeries::part(Index begin, Index limit) {
  limit = std::min(limit, size());
  EncodedPart part{.begin = guess(begin)};
  part.end = part.begin;
  part.cuts.push_back(end_of(part));
  while (part.end < limit) {
    remember(step(part, limit, kTextWindow), part);
  }
  return part;
}

void TextSeries::enter(EncodedPart& part, Index begin, Index limit) {
  limit = std::min(limit, size());
  EncodedPart lead{.begin = begin, .end = begin};
  lead.cuts.push_back(end_of(lead));
  std::vector<EncodedPart::Cut> cuts = lead.cuts;
  while (true) {
    for (const EncodedPart::Cut& cut : cuts) {
      const auto same = std::lower_bound(part.cuts.begin(), part.cuts.end(), cut.position,
                                         [](const EncodedPart::Cut& each, Index at) { return each.position < at; });
      if (same == part.cuts.end() || same->position != cut.position) continue;
      std::erase_if(lead.cuts, [&](const EncodedPart::Cut& each) { return each.position >= cut.position; });
      part = joined(std::move(lead), cut, part, same);
      return;
    }
    if (lead.end >= limit) break;
    cuts = step(lead, limit, kSmallWindow);
    remember(cuts, lead);
  }
  part = std::move(lead);
}

/// Encodes on from the end of the part: a window, a line, a document or the end of a file. Returns the new cuts. The
/// last is the new end.
std::vector<EncodedPart::Cut> TextSeries::step(EncodedPart& part, Index limit, std::size_t window) {
  const Place place = place_of(part.end);
  if (!place.rest.empty() && !has_lines(place.file) && tokenizer_.can_cut()) {
    return add_text(part, place.rest, limit, window);
  }
  if (place.rest.empty()) {
    if (!has_lines(place.file)) end_document(part);
    part.file_ends.push_back(part.ids.size());
    part.end += 1;
  } else if (has_lines(place.file)) {
    add_line(part, place);
  } else {
    const std::vector<std::int32_t> ids = tokenizer_.encode(place.rest);
    part.ids.insert(part.ids.end(), ids.begin(), ids.end());
    part.end += size_of_text(place.rest);
  }
  return {end_of(part)};
}

void TextSeries::add_line(EncodedPart& part, const Place& place) {
  constexpr int kDeepest = 64;
  const std::string_view line = place.rest.substr(0, place.rest.find('\n'));
  const std::string& path = options_.files[place.file];
  if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
    const std::string what = fmt::format("the line at byte {}", part.end - starts_[place.file]);
    const nlohmann::json object = parse_object(line, path, what, kDeepest);
    require(object.contains("text") && object["text"].is_string(), "{}: {} has no \"text\" that is a string", path,
            what);
    const std::vector<std::int32_t> ids = tokenizer_.encode(object["text"].get_ref<const std::string&>());
    part.ids.insert(part.ids.end(), ids.begin(), ids.end());
    end_document(part);
  }
  part.end += size_of_text(line) + (line.size() < place.rest.size() ? 1 : 0);
}

std::vector<EncodedPart::Cut> TextSeries::add_text(EncodedPart& part, std::string_view rest, Index limit,
                                                   std::size_t window) {
  // Behind the limit a few words are enough.
  window = std::min({window, rest.size(), static_cast<std::size_t>(limit - part.end) + kSmallWindow});
  Tokenizer::TextStart start = tokenizer_.encode_start(rest.substr(0, window), window == rest.size());
  while (start.cuts.empty()) {
    window = std::min(2 * window, rest.size());
    start = tokenizer_.encode_start(rest.substr(0, window), window == rest.size());
  }
  const EncodedPart::Cut before = end_of(part);
  std::vector<EncodedPart::Cut> cuts;
  for (const Tokenizer::Cut& cut : start.cuts) {
    cuts.push_back(
        {before.position + static_cast<Index>(cut.bytes), before.ids + cut.ids, before.documents, before.files});
    if (cuts.back().position >= limit) break;
  }
  const auto count = static_cast<std::ptrdiff_t>(cuts.back().ids - before.ids);
  part.ids.insert(part.ids.end(), start.ids.begin(), start.ids.begin() + count);
  part.end = cuts.back().position;
  return cuts;
}

void TextSeries::end_document(EncodedPart& part) const {
  if (options_.end_token) part.ids.push_back(*options_.end_token);
  part.documents += 1;
}

}  // namespace shardline
