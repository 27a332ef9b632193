#pragma once

#include <cstdint>

#include "program/ir/rank_program.h"

namespace shardline {

/// A hash over the printed program, the numbers of its moves, the sizes and types of its arrays, and the constants of
/// its operations. It shows whether two ranks derived different programs.
std::uint64_t hash_of(const RankProgram& program);

}  // namespace shardline
