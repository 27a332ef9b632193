#include "models/generation/phase_inputs.h"

#include <algorithm>
#include <numeric>

#include "runtime/layout/blocks.h"

namespace shardline {

Tensor integers(Shape shape, std::int32_t value) {
  Tensor made(DType::i32, std::move(shape));
  const View<std::int32_t> view = made.view<std::int32_t>();
  std::fill(view.begin(), view.end(), value);
  return made;
}

void give(Executor& executor, const Mesh& mesh, ArrayId input, const Tensor& whole) {
  const RankProgram& program = executor.compiled().program();
  const Sharding& sharding = program.version(program.inputs.at(input)).sharding;
  executor.set(input, whole.slice(box(whole.shape(), sharding, mesh.axes(), mesh.rank())));
}

void set_positions_of(Executor& executor, const GenerationPhase& phase, const std::vector<std::int32_t>& where) {
  Tensor places = integers({static_cast<Index>(where.size())}, 0);
  std::copy(where.begin(), where.end(), places.view<std::int32_t>().begin());
  executor.set(phase.model.cached.where, places);
  if (phase.model.positions < 0) return;
  Tensor in_order = integers(phase.model.program.array(phase.model.positions).shape, 0);
  const View<std::int32_t> view = in_order.view<std::int32_t>();
  std::iota(view.begin(), view.end(), 0);
  executor.set(phase.model.positions, in_order);
}

}  // namespace shardline
