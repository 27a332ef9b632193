#pragma once

#include <string>

#include "models/training/training.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// Sizes that no mesh of these tests divides: 3 key-value heads of 2 queries, D 20, F 22, V 257, 5 sequences of
/// 7 tokens.
inline TransformerConfig small_config(bool tied) {
  return {.vocab = 257,
          .d_model = 20,
          .layers = 2,
          .heads = 6,
          .kv_heads = 3,
          .head_dim = 4,
          .d_ff = 22,
          .initializer_range = 0.3,
          .tied = tied};
}

inline TrainingOptions small_options(DType dtype, Index steps) {
  TrainingOptions options;
  options.batch = {5, 7};
  options.learning_rate = 1e-2;
  options.steps = steps;
  options.warmup = 2;
  options.adamw.weight_decay = 0.1;
  options.adamw.clip_norm = 0.5;  // so small that the norm matters in every step
  options.dtype = dtype;
  options.seed = 3;
  return options;
}

inline ByteData small_data() {
  return ByteData({"text"}, 7, 3, [](const std::string&) {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i * i % 97) + ";\n";
    return text;
  });
}

/// Links and rates. No test depends on their values.
inline roofline::Hardware any_hardware(const AbstractMesh& mesh) {
  roofline::Hardware hardware{"test", FlopsPerSecond(1e10), BytesPerSecond(1e10), Seconds(1e-6), {}};
  for (const Axis& axis : mesh.axes()) hardware.links[axis] = {Seconds(1e-6), BytesPerSecond(1e9)};
  return hardware;
}

/// Runs `body` on the first `ranks` ranks of the job, and lets the others wait.
template <class Body>
void on_first(const mpi::Communicator& world, int ranks, Body body) {
  const mpi::Communicator part = world.split(world.rank() < ranks ? 0 : 1, world.rank());
  if (world.rank() < ranks) body(part);
  world.barrier();
}

}  // namespace shardline
