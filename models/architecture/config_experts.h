#pragma once

#include <vector>

#include "models/architecture/config.h"
#include "models/architecture/config_reader.h"

namespace shardline {

/// Appends the keys of experts that a model_type without experts does not have. For one with experts: an MLP that they
/// are not implemented with.
void look_at_experts(const ConfigReader& reader, std::vector<ConfigDifference>& found);

/// Reads the experts of a configuration; none if its model_type has none. Notes missing sizes. The balancing loss
/// counts only with `output_router_logits`, as in Hugging Face's training. Throws UsageError, one line, for values out
/// of range, and for a number of experts under a key that the model_type does not have.
Experts read_experts(ConfigReader& reader);

/// Appends the keys that say this to those of a `config.json`.
void add_experts(const Experts& experts, nlohmann::ordered_json& keys);

}  // namespace shardline
