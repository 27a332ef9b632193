#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "runtime/base/shape.h"

namespace shardline {

/// What a stage of a pipeline does with a chunk of layers. The update of the parameters is no task.
enum class TaskKind : std::uint8_t {
  forward,   ///< F
  backward,  ///< B: the gradients of inputs and of weights, together
  inputs,    ///< I: the gradients of inputs alone
  weights,   ///< W: the gradients of weights alone, from what I left
};
constexpr int kTaskKinds = 4;

/// What a chunk does for every micro-batch: a task without its micro-batch.
struct ChunkTask {
  TaskKind kind = TaskKind::forward;
  int chunk = 0;
  auto operator<=>(const ChunkTask&) const = default;
};

/// What a stage does for one micro-batch. A chunk is a run of layers that lies on one stage.
struct Task {
  TaskKind kind = TaskKind::forward;
  int chunk = 0;
  Index micro_batch = 0;
  auto operator<=>(const Task&) const = default;

  ChunkTask of_chunk() const { return {kind, chunk}; }
};

/// The letter of a kind: "F", "B", "I" or "W".
inline std::string to_string(TaskKind kind) { return {"FBIW"[static_cast<int>(kind)]}; }

}  // namespace shardline
