#include "models/training/positions.h"

#include <numeric>
#include <utility>

namespace shardline {

void set_positions(Executor& executor) {
  const RankProgram& program = executor.compiled().program();
  for (const auto& [input, version] : program.inputs) {
    const Array& array = program.program.array(input);
    if (array.role != Role::positions) continue;
    Tensor positions(array.dtype, array.shape);
    std::iota(positions.view<std::int32_t>().begin(), positions.view<std::int32_t>().end(), 0);
    executor.set(input, std::move(positions));
  }
}

}  // namespace shardline
