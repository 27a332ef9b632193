#include "models/generation/inference.h"

#include <algorithm>
#include <utility>

#include "models/checkpoint/file_arrays.h"
#include "models/data/token_order.h"
#include "models/training/positions.h"
#include "program/partition/check.h"
#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/layout/blocks.h"
#include "runtime/layout/finite.h"
#include "runtime/mesh/dist_tensor.h"

namespace shardline {

InferencePlan::InferencePlan(const TransformerConfig& config, const Strategy& strategy, const AbstractMesh& mesh,
                             Index window, DType dtype)
    : window_(window), model_(make_inference(config, {1, window}, dtype)) {
  for (const auto& [axis, role] : strategy) {
    require(!makes_stages(role.row()),
            "role {} on axis {}: text is generated without stages; other roles split the work", role.name(), axis);
  }
  SHARDLINE_CHECK(window >= 1, "a window of {} tokens", window);
  SHARDLINE_CHECK(dtype == DType::f32 || dtype == DType::f64, "inference in {}", name_of(dtype));
  RankProgram program = partition(model_.program, mesh, declare(model_.program, mesh, strategy));
  check(program);
  compiled_ = compile(std::move(program), {});
}

Bytes InferencePlan::memory(Index rank) const {
  const auto item = static_cast<double>(size_of(dtype()));
  double loading = 0;  // for a block; rank 0 holds the largest
  for (const ModelParameter& parameter : model_.parameters) {
    const Shape block = local_shape(compiled_->program(), compiled_->program().inputs.at(parameter.array), 0);
    loading = std::max(loading, loading_memory(block, parameter, item));
  }
  // The logits are gathered, then converted.
  const double gathering = 2 * static_cast<double>(element_count(model_.program.array(model_.result).shape));
  return compiled_->liveness().peak(rank) + Bytes(std::max(loading, 8 * gathering));
}

Inference::Inference(collectives::Engine& engine, InferencePlan plan, const Checkpoint& checkpoint)
    : engine_(engine),
      plan_(std::move(plan)),
      state_(engine, plan_state({plan_.compiled().get()})),
      executor_(plan_.compiled(), state_) {
  load_parameters(checkpoint, state_, plan_.model(), engine.mesh().comm());
  set_positions(executor_, token_positions(TokenOrder::contiguous, plan_.window(), 1));
}

std::vector<double> Inference::logits_after(const std::vector<std::int32_t>& ids) {
  SHARDLINE_CHECK(!ids.empty(), "no tokens to continue");
  const Model& model = plan_.model();
  const RankProgram& program = plan_.compiled()->program();
  const Index seen = std::min<Index>(static_cast<Index>(ids.size()), plan_.window());
  Tensor window = Tensor::zeros(DType::i32, {1, plan_.window()});
  std::copy(ids.end() - seen, ids.end(), window.view<std::int32_t>().begin());
  const Index vocabulary = model.program.array(model.result).shape[2];
  for (auto id = ids.end() - seen; id != ids.end(); ++id) {
    SHARDLINE_CHECK(*id >= 0 && *id < vocabulary, "token {} for a vocabulary of {}", *id, vocabulary);
  }
  const Mesh& mesh = engine_.mesh();
  const Sharding& sharding = program.version(program.inputs.at(model.samples[0])).sharding;
  executor_.set(model.samples[0], window.slice(box({1, plan_.window()}, sharding, mesh.axes(), mesh.rank())));
  executor_.run();
  executor_.forget_times();

  const Array& array = model.program.array(model.result);
  const ArraySpec spec{.name = array.name,
                       .dims = array.dims,
                       .shape = array.shape,
                       .sharding = program.version(program.finals.at(model.result)).sharding,
                       .dtype = plan_.dtype()};
  const Tensor whole = DistTensor::from_local(mesh, spec, executor_.get(model.result)).gather();
  const Tensor last = whole.slice({{0, 1}, {seen - 1, seen}, {0, array.shape[2]}}).as(DType::f64);
  if (!non_finite(last).empty()) {
    throw ResultError(fmt::format("the logits after {} tokens hold {}: sums overflow in {}{}", ids.size(),
                                  non_finite(last), name_of(plan_.dtype()),
                                  plan_.dtype() == DType::f64 ? "" : "; --dtype f64 may help"));
  }
  const View<const double> values = std::as_const(last).view<double>();
  return {values.begin(), values.end()};
}

}  // namespace shardline
