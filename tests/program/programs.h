#pragma once

#include <string>

#include "models/architecture/mlp.h"
#include "models/architecture/transformer.h"
#include "models/strategy/strategies.h"
#include "program/partition/partition.h"

namespace shardline {

inline const Policy kRegather = {Reuse::regather, Reuse::regather};

/// A Transformer of a few hundred weights. Its sizes are even (`divides`) or divide nothing.
inline TransformerConfig small_config(bool divides, bool tied = false, Index layers = 1) {
  TransformerConfig config;
  config.vocab = divides ? 12 : 11;
  config.d_model = divides ? 8 : 7;
  config.layers = layers;
  config.kv_heads = 2;
  config.heads = divides ? 4 : 6;
  config.head_dim = 4;
  config.d_ff = divides ? 10 : 5;
  config.tied = tied;
  return config;
}

inline BatchShape small_batch(bool divides) { return divides ? BatchShape{4, 6} : BatchShape{3, 5}; }

inline TrainingStep small_training_step(bool divides, bool tied = false, Index layers = 1) {
  AdamW options;
  options.clip_norm = 0.5;
  options.weight_decay = 0.1;
  return make_training_step(small_config(divides, tied, layers), small_batch(divides), options);
}

inline RankProgram partitioned(const Program& program, const std::string& mesh_text, const std::string& strategy,
                               const Policy& policy = {}) {
  const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
  return partition(program, mesh, declare(program, mesh, parse_strategy(strategy, mesh), policy));
}

}  // namespace shardline
