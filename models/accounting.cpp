#include "models/accounting.h"

namespace shardline {

Flops training_flops(const TransformerConfig& config, const BatchShape& batch) {
  const auto sequences = static_cast<double>(batch.sequences);
  const auto tokens = static_cast<double>(batch.tokens);
  const double products = 6.0 * static_cast<double>(parameter_count(config)) * sequences * tokens;
  const double attention =
      12.0 * static_cast<double>(config.layers) * sequences * tokens * tokens * static_cast<double>(config.d_model);
  return Flops(products + attention);
}

}  // namespace shardline
