#include "models/training/positions.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace shardline {

void set_positions(Executor& executor, const std::vector<Index>& positions) {
  const RankProgram& program = executor.compiled().program();
  for (const auto& [input, version] : program.inputs) {
    const Array& array = program.program.array(input);
    if (array.role != Role::positions) continue;
    Tensor values(array.dtype, array.shape);
    SHARDLINE_CHECK(values.size() == static_cast<Index>(positions.size()), "{} positions for {} tokens",
                    positions.size(), values.size());
    std::transform(positions.begin(), positions.end(), values.view<std::int32_t>().begin(),
                   [](Index position) { return static_cast<std::int32_t>(position); });
    executor.set(input, std::move(values));
  }
}

}  // namespace shardline
