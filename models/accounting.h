#pragma once

#include "models/config.h"
#include "models/transformer.h"
#include "runtime/base/units.h"

namespace shardline {

/// FLOPs of one training step as the field counts them: 6 N tokens + 12 L B T^2 d_model, N being all parameters (a tied
/// embedding once) and the attention term counted without its causal half (book section 4).
Flops training_flops(const TransformerConfig& config, const BatchShape& batch);

}  // namespace shardline
