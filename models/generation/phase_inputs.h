#pragma once

#include <cstdint>
#include <vector>

#include "models/planning/generation_phase.h"
#include "program/run/execute.h"
#include "runtime/mesh/mesh.h"

namespace shardline {

/// An i32 array that holds `value` everywhere.
Tensor integers(Shape shape, std::int32_t value);

/// Gives an input, of which every rank knows the whole, its block. Collective over `mesh`, as Executor::set().
void give(Executor& executor, const Mesh& mesh, ArrayId input, const Tensor& whole);

/// Sets the inputs of a phase that are the same in every run: the position that each place of its caches holds, and
/// those of the tokens of a first chunk.
void set_positions_of(Executor& executor, const GenerationPhase& phase, const std::vector<std::int32_t>& where);

}  // namespace shardline
