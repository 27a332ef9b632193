#pragma once

#include <vector>

#include "program/plan/compiled.h"
#include "runtime/trace/trace.h"

namespace shardline {

/// What a trace tells of each step of a program. Without predictions their fields are zero.
std::vector<Label> step_labels(const Compiled& compiled);

}  // namespace shardline
