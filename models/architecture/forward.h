#pragma once

#include <optional>

#include "models/architecture/config.h"
#include "models/architecture/model.h"

namespace shardline {

/// The caches of a model that continues texts.
struct CacheForm {
  Index places = 0;  ///< S: the most tokens of a sequence
  /// The caches hold nothing yet: attention reads the keys at hand, and positions are those of the batch.
  bool fresh = false;
  bool split_places = false;  ///< an axis may split S, see CacheAttentionOptions
  double seen = 1;            ///< the share of the places that a query is expected to see; prices count it
  /// Of the stored keys and values; none: as elements. Keys and values are cast before they are written. Where
  /// attention reads the caches, queries are cast before it and its result is cast back.
  std::optional<DType> dtype = {};
};

struct ForwardOptions {
  DType dtype = DType::f32;    ///< of elements
  DType weights = DType::f32;  ///< of parameters
  Index balance_parts = 0;     ///< the balancing losses are means over so many batches; 0: there are none
  std::optional<CacheForm> cache = {};
};

/// The forward pass of a Transformer to its logits, layer by layer. Nothing is an output yet.
Model make_forward(const TransformerConfig& config, const BatchShape& batch, const ForwardOptions& options);

}  // namespace shardline
