#pragma once

#include <vector>

#include "program/run/execute.h"

namespace shardline {

/// Sets the input positions[T] (see Model::positions) of a program. It keeps them from run to run. Programs without
/// such an input, as some stages of a pipeline, stay as they are.
void set_positions(Executor& executor, const std::vector<Index>& positions);

}  // namespace shardline
