#include "models/architecture/config_rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/architecture/strict_json.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

using Json = nlohmann::json;

constexpr auto kObjects = std::to_array<const char*>({"rope_scaling", "rope_parameters"});
constexpr const char* kDefault = "default";
constexpr const char* kLlama3 = "llama3";
constexpr const char* kFactor = "factor";
constexpr const char* kLow = "low_freq_factor";
constexpr const char* kHigh = "high_freq_factor";
constexpr const char* kOriginal = "original_max_position_embeddings";
constexpr auto kNumbers = std::to_array<std::string_view>({kFactor, kLow, kHigh, kOriginal});

/// The key that names the type: "type" is the older spelling. Null if there is neither.
const char* type_key(const Json& rope) {
  return rope.contains("rope_type") ? "rope_type" : rope.contains("type") ? "type" : nullptr;
}

Json type_of(const Json& rope) {
  const char* key = type_key(rope);
  return key == nullptr ? Json(kDefault) : rope.at(key);
}

void look_at_object(const char* name, const Json& rope, std::vector<ConfigDifference>& found) {
  const Json type = type_of(rope);
  if (type != kDefault && type != kLlama3) {
    found.push_back({fmt::format("{}.{}", name, type_key(rope)), type,
                     fmt::format("only \"{}\" and \"{}\" are implemented", kDefault, kLlama3)});
    return;
  }
  for (const auto& [key, value] : rope.items()) {
    const bool is_type = key == "rope_type" || key == "type";
    const bool is_number = type == kLlama3 && std::find(kNumbers.begin(), kNumbers.end(), key) != kNumbers.end();
    const bool harmless = key == "rope_theta" || is_number || (is_type && value == type) ||
                          (key == "partial_rotary_factor" && value == 1);
    if (harmless) continue;
    found.push_back({fmt::format("{}.{}", name, key), value,
                     is_type                          ? fmt::format("rope_type is {}", shown(type))
                     : key == "partial_rotary_factor" ? "only 1 is implemented"
                                                      : "this key is not implemented"});
  }
}

/// The object that counts, by its key. Null: there is none that is not empty.
const char* object_that_counts(const ConfigReader& reader) {
  for (const char* key : kObjects) {
    if (reader.has(key) && !reader.object().at(key).empty()) return key;
  }
  return nullptr;
}

/// The numbers of "llama3" in the object `name`.
class Llama3 {
 public:
  Llama3(const ConfigReader& reader, const char* name)
      : reader_(reader), name_(name), rope_(reader.object().at(name)) {}

  kernels::RopeScaling read() const {
    for (const std::string_view key : kNumbers) {
      require(rope_.contains(key), "{}: {}.{} is missing; rope_type \"{}\" needs {}", reader_.name(), name_, key,
              kLlama3, fmt::join(kNumbers, ", "));
    }
    constexpr double kMost = 1e9;
    const kernels::RopeScaling scaling{.factor = number(kFactor, 1, kMost),
                                       .low_freq_factor = number(kLow, 1e-9, kMost),
                                       .high_freq_factor = number(kHigh, 1e-9, kMost),
                                       .original_positions = number(kOriginal, 1, kMost)};
    if (!rope_.at(kOriginal).is_number_integer()) refuse(kOriginal, "it must be a whole number");
    if (scaling.high_freq_factor <= scaling.low_freq_factor) {
      refuse(kHigh, fmt::format("it must be larger than {}, which is {}", kLow, shown(rope_.at(kLow))));
    }
    // Newer versions of transformers take this key from outside if it is there.
    if (reader_.has(kOriginal) && reader_.object().at(kOriginal) != rope_.at(kOriginal)) {
      refuse(kOriginal, fmt::format("outside of {} it is {}; both must be the same", name_,
                                    shown(reader_.object().at(kOriginal))));
    }
    return scaling;
  }

 private:
  [[noreturn]] void refuse(const char* key, const std::string& legal) const {
    reader_.refuse(fmt::format("{}.{}", name_, key), rope_.at(key), legal);
  }

  double number(const char* key, double least, double most) const {
    const Json& value = rope_.at(key);
    if (!value.is_number() || !(value.get<double>() >= least) || value.get<double>() > most) {
      refuse(key, fmt::format("it must be a number from {:g} to {:g}", least, most));
    }
    return value.get<double>();
  }

  const ConfigReader& reader_;
  const char* name_;
  const Json& rope_;
};

}  // namespace

void look_at_rope(const ConfigReader& reader, std::vector<ConfigDifference>& found) {
  for (const char* name : kObjects) {
    if (!reader.has(name)) continue;
    const Json& rope = reader.object().at(name);
    if (rope.is_object()) {
      look_at_object(name, rope, found);
    } else {
      found.push_back({name, rope, "it must be an object or null"});
    }
  }
}

RopeSettings read_rope(const ConfigReader& reader, double theta) {
  constexpr double kMost = 1e30;  // its powers are computed in f32
  const double outside = reader.positive(reader.object(), "rope_theta", theta, kMost);
  const char* name = object_that_counts(reader);
  if (name == nullptr) return {.theta = outside};
  const Json& rope = reader.object().at(name);
  RopeSettings settings{.theta = reader.positive(rope, "rope_theta", outside, kMost)};
  if (type_of(rope) == kLlama3) settings.scaling = Llama3(reader, name).read();
  return settings;
}

nlohmann::ordered_json rope_scaling_json(const std::optional<kernels::RopeScaling>& scaling) {
  if (!scaling) return nullptr;
  return {{"rope_type", kLlama3},
          {kFactor, scaling->factor},
          {kLow, scaling->low_freq_factor},
          {kHigh, scaling->high_freq_factor},
          {kOriginal, static_cast<Index>(scaling->original_positions)}};
}

}  // namespace shardline
