#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/schedule/options.h"
#include "collectives/shared/arena.h"
#include "tests/collectives/fixture.h"

namespace shardline::collectives {

inline constexpr Options kDirect{.algorithm = Algorithm::direct};

/// Calls `check(stage)` for every mesh case with an arena of `bytes`.
void for_each_arena(Index bytes, const std::function<void(Stage&)>& check);

/// Collective over the mesh: a copy of `tensor` in the stage's arena.
Tensor in_arena(Stage& stage, const Tensor& tensor);
/// Collective over the mesh: bytes in the stage's arena that no test expects.
Tensor spoiled_in_arena(Stage& stage, DType dtype, const Shape& shape);

/// A tensor of `shape` over a part of the memory of `whole`, from element `begin` on.
Tensor over(Tensor whole, Index begin, const Shape& shape);

}  // namespace shardline::collectives
