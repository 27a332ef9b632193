#include "roofline/machine/file_value.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "runtime/base/check.h"
#include "runtime/base/nearest.h"

namespace shardline::roofline {
namespace {

using Json = nlohmann::json;

/// A key as part of a message: without line breaks.
std::string shown(const std::string& key) {
  const std::string quoted = Json(key).dump(-1, ' ', false, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

std::string joined(const std::string& keys, const std::string& key) {
  return keys.empty() ? shown(key) : keys + "." + shown(key);
}

/// Follows a parser through a file: the current position, and the keys so far of the open objects.
class Place {
 public:
  /// The parser calls this on every event. False if an object has a key twice.
  bool follow(Json::parse_event_t event, const Json& value) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        if (!open_.empty()) ++open_.back().begun;
        open_.push_back({event == Json::parse_event_t::array_start});
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        open_.pop_back();
        break;
      case Json::parse_event_t::key:
        open_.back().key = value.get<std::string>();
        return open_.back().keys.insert(open_.back().key).second;
      case Json::parse_event_t::value:
        break;
    }
    return true;
  }

  std::string keys() const {
    std::string text;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (!open_[i].is_array) {
        text = joined(text, open_[i].key);
      } else if (i + 1 < open_.size()) {
        text += fmt::format("[{}]", open_[i].begun - 1);
      }
    }
    return text;
  }

 private:
  struct Open {
    bool is_array = false;
    int begun = 0;  ///< objects and arrays in it
    std::string key = {};
    std::set<std::string> keys = {};
  };
  std::vector<Open> open_;
};

}  // namespace

FileValue FileValue::parse(const std::string& text, const std::string& file) {
  Place place;
  std::optional<std::string> repeated;
  const auto follow = [&](int /*depth*/, Json::parse_event_t event, const Json& value) {
    if (!place.follow(event, value) && !repeated) repeated = place.keys();
    return true;
  };
  auto read = std::make_shared<File>();
  read->name = file;
  try {
    read->root = Json::parse(text, follow);
  } catch (const Json::parse_error& error) {
    usage_error("{}: not JSON: {}", file, error.what());
  } catch (const Json::out_of_range&) {
    usage_error("{}: {} is a number beyond what a double holds", file, place.keys());
  }
  if (repeated) usage_error("{}: {} is there twice", file, *repeated);
  const Json* root = &read->root;
  return {std::move(read), root, ""};
}

FileValue FileValue::under(const std::string& key, const Json& value) const {
  return {file_, &value, joined(keys_, key)};
}

FileValue FileValue::operator[](const std::string& key) const {
  const std::optional<FileValue> found = find(key);
  if (!found) usage_error("{}: {} is missing", file_->name, joined(keys_, key));
  return *found;
}

std::optional<FileValue> FileValue::find(const std::string& key) const {
  expect_object();
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return under(key, *found);
}

std::vector<std::pair<std::string, FileValue>> FileValue::members() const {
  expect_object();
  if (value_->empty()) refuse("at least one key");
  std::vector<std::pair<std::string, FileValue>> all;
  for (const auto& [key, value] : value_->items()) all.emplace_back(key, under(key, value));
  return all;
}

void FileValue::allow_only(const std::vector<std::string>& legal) const {
  expect_object();
  for (const auto& [key, value] : value_->items()) {
    if (std::find(legal.begin(), legal.end(), key) != legal.end()) continue;
    const std::vector<std::string> near = nearest(key, legal);
    usage_error("{}: {} is not a key of a machine; nearest {} {}", file_->name, joined(keys_, key),
                near.size() == 1 ? "is" : "are", fmt::join(near, ", "));
  }
}

std::vector<FileValue> FileValue::items() const {
  if (!value_->is_array() || value_->empty()) refuse("an array of at least one value");
  std::vector<FileValue> all;
  for (std::size_t i = 0; i < value_->size(); ++i) {
    all.push_back({file_, &(*value_)[i], fmt::format("{}[{}]", keys_, i)});
  }
  return all;
}

std::string FileValue::text() const {
  if (!value_->is_string() || value_->get<std::string>().empty()) refuse("a text");
  return value_->get<std::string>();
}

double FileValue::number(const char* legal) const {
  if (!value_->is_number()) refuse(legal);
  return value_->get<double>();
}

double FileValue::positive() const {
  constexpr const char* kLegal = "a positive number";
  const double value = number(kLegal);
  if (!(value > 0)) refuse(kLegal);
  return value;
}

double FileValue::at_least_zero() const {
  constexpr const char* kLegal = "a number of at least 0";
  const double value = number(kLegal);
  if (!(value >= 0)) refuse(kLegal);
  return value;
}

double FileValue::share() const {
  constexpr const char* kLegal = "a number from 0 to 1";
  const double value = number(kLegal);
  if (!(value >= 0 && value <= 1)) refuse(kLegal);
  return value;
}

Index FileValue::whole(Index least, Index most) const {
  const bool counts = value_->is_number_unsigned();  // the parser makes unsigned of every whole number from 0
  const std::uint64_t value = counts ? value_->get<std::uint64_t>() : 0;
  if (!counts || value < static_cast<std::uint64_t>(least) || value > static_cast<std::uint64_t>(most)) {
    refuse(fmt::format("a whole number from {} to {}", least, most));
  }
  return value_->get<Index>();
}

void FileValue::expect_object() const {
  if (!value_->is_object()) refuse("an object");
}

std::string FileValue::one_of_text(const std::vector<std::string>& names) {
  std::vector<std::string> as_shown;
  for (const std::string& name : names) as_shown.push_back(shown(name));
  return fmt::format("one of {}", fmt::join(as_shown, ", "));
}

void FileValue::refuse(const std::string& legal) const {
  const bool large = (value_->is_object() || value_->is_array()) && !value_->empty();
  const std::string shown = large ? value_->is_object() ? "an object" : "an array"
                                  : value_->dump(-1, ' ', true, Json::error_handler_t::replace);
  complain(fmt::format("is {}: {}", shown, legal));
}

void FileValue::complain(const std::string& fault) const {
  usage_error("{}: {} {}", file_->name, keys_.empty() ? "the whole" : keys_, fault);
}

}  // namespace shardline::roofline
