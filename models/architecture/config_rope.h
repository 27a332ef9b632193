#pragma once

#include <optional>
#include <vector>

#include "kernels/rope.h"
#include "models/architecture/config_reader.h"

namespace shardline {

/// What a `config.json` says of rotary positions.
struct RopeSettings {
  double theta = 0;
  std::optional<kernels::RopeScaling> scaling = {};
};

/// Appends what `rope_scaling` and `rope_parameters` say that is not implemented: other types than "default" and
/// "llama3", and keys that their type does not have.
void look_at_rope(const ConfigReader& reader, std::vector<ConfigDifference>& found);

/// Reads the rotary positions of a configuration in which look_at_rope() finds nothing. A non-empty rope_scaling goes
/// before rope_parameters. Both go before the key rope_theta outside, which is `theta` if it is missing. Throws
/// UsageError, one line, for a missing key of "llama3" and for values out of range.
RopeSettings read_rope(const ConfigReader& reader, double theta);

/// The value of `rope_scaling` that says this: null without a scaling.
nlohmann::ordered_json rope_scaling_json(const std::optional<kernels::RopeScaling>& scaling);

}  // namespace shardline
