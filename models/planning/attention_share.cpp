#include "models/planning/attention_share.h"

#include <cmath>

#include "models/architecture/accounting.h"
#include "models/architecture/transformer.h"
#include "models/planning/planned_work.h"
#include "models/strategy/strategies.h"
#include "program/ir/kernel.h"
#include "program/partition/partition.h"

namespace shardline {
namespace {

constexpr Index kMostTokens = Index{1} << 30;

TransformerConfig one_layer(TransformerConfig config) {
  config.layers = 1;
  return config;
}

}  // namespace

LayerFlops layer_flops(const TransformerConfig& config, Index sequence) {
  const TrainingStep step = make_training_step(one_layer(config), {1, sequence}, {}, {}, {});
  const AbstractMesh alone;
  const RankProgram program = partition(step.model.program, alone, declare(step.model.program, alone, {}));
  LayerFlops flops;
  for (const Step& each : program.steps) {
    if (each.kind != StepKind::compute || each.region.layer != 1 || each.region.pass == Pass::update) continue;
    const Phase& phase = program.phase_of(each);
    const std::vector<Range> ranges = index_ranges(program, each, 0);
    const PhaseBlock block{program.program, program.operation_of(each), phase, ranges};
    (is_attention(program, each) ? flops.attention : flops.rest) += phase.kernel->cost(block).flops;
  }
  flops.unmasked = token_flops(one_layer(config), sequence).attention * static_cast<double>(sequence);
  return flops;
}

EqualSequences equal_sequences(const TransformerConfig& config) {
  const LayerFlops one = layer_flops(config, 1);
  EqualSequences equal;
  // A token's share of the rest does not depend on T, and its attention by the book's count grows as T.
  equal.unmasked = static_cast<Index>(std::ceil(one.rest / one.unmasked));
  Index below = 0;
  equal.computed = 1;
  const auto reached = [&](Index sequence) {
    const LayerFlops flops = layer_flops(config, sequence);
    return flops.attention >= flops.rest;
  };
  while (equal.computed < kMostTokens && !reached(equal.computed)) below = equal.computed, equal.computed *= 2;
  while (equal.computed - below > 1) {
    const Index middle = below + (equal.computed - below) / 2;
    (reached(middle) ? equal.computed : below) = middle;
  }
  return equal;
}

}  // namespace shardline
