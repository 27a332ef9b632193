#include "models/architecture/config_reader.h"

#include <fmt/format.h>

#include <limits>

#include "models/architecture/strict_json.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr Index kLargestSize = 2147483647;
constexpr Index kMostLayers = 10000;
constexpr int kDeepestConfig = 16;

}  // namespace

ConfigReader::ConfigReader(std::string_view text, std::string_view name, const std::string& legal_types)
    : name_(name),
      object_(parse_object(text, name_, "the configuration", kDeepestConfig)),
      type_(find_type(legal_types)) {}

void ConfigReader::refuse(std::string_view key, const nlohmann::json& value, std::string_view legal) const {
  usage_error("{}: {} is {}; {}", name_, key, shown(value), legal);
}

Index ConfigReader::size(const char* key, Index missing) const {
  if (is_missing(key)) return missing;
  const Index most = key == std::string_view("num_hidden_layers") ? kMostLayers : kLargestSize;
  const nlohmann::json& value = object_.at(key);
  if (!value.is_number_integer() || value < 1 || value > most) {
    refuse(key, value, fmt::format("it must be a whole number from 1 to {}", most));
  }
  return value.get<Index>();
}

Index ConfigReader::noted_size(const char* key, Index missing) {
  if (is_missing(key)) missing_.push_back(fmt::format("{} {}", key, missing));
  return size(key, missing);
}

double ConfigReader::positive(const nlohmann::json& object, const char* key, double missing, double most) const {
  constexpr double kLeast = std::numeric_limits<float>::min();
  if (!object.contains(key)) return missing;
  const nlohmann::json& value = object.at(key);
  if (!value.is_number() || !(value.get<double>() >= kLeast) || value.get<double>() > most) {
    refuse(key, value, fmt::format("it must be a positive number from {:.2g} to {:g}", kLeast, most));
  }
  return value.get<double>();
}

double ConfigReader::number(const char* key, double missing, double least, double most) const {
  if (is_missing(key)) return missing;
  const nlohmann::json& value = object_.at(key);
  if (!value.is_number() || !(value.get<double>() >= least) || value.get<double>() > most) {
    refuse(key, value, fmt::format("it must be a number from {:g} to {:g}", least, most));
  }
  return value.get<double>();
}

bool ConfigReader::flag(const char* key, bool missing) const {
  if (is_missing(key)) return missing;
  if (!object_.at(key).is_boolean()) refuse(key, object_.at(key), "it must be true or false");
  return object_.at(key).get<bool>();
}

const ModelType& ConfigReader::find_type(const std::string& legal) const {
  require(object_.contains("model_type"), "{}: model_type is missing; {}", name_, legal);
  const nlohmann::json& given = object_.at("model_type");
  for (const ModelType& type : model_types()) {
    if (given == std::string(type.name)) return type;
  }
  refuse("model_type", given, legal);
}

}  // namespace shardline
