#include "tests/collectives/direct_fixture.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/base/check.h"

namespace shardline::collectives {

void for_each_arena(Index bytes, const std::function<void(Stage&)>& check) {
  for_each_mesh([&](Stage& stage) {
    stage.engine.set_arena(std::make_shared<Arena>(stage.mesh, bytes));
    check(stage);
  });
}

Tensor in_arena(Stage& stage, const Tensor& tensor) {
  Tensor copy = stage.engine.arena()->allocate(tensor.dtype(), tensor.shape());
  if (tensor.bytes() > 0) std::memcpy(copy.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  return copy;
}

Tensor spoiled_in_arena(Stage& stage, DType dtype, const Shape& shape) {
  return in_arena(stage, spoiled(dtype, shape));
}

Tensor over(Tensor whole, Index begin, const Shape& shape) {
  const auto owner = std::make_shared<Tensor>(std::move(whole));
  std::byte* data = owner->data() + begin * size_of(owner->dtype());
  return {owner->dtype(), shape, std::shared_ptr<std::byte>(owner, data)};
}

}  // namespace shardline::collectives
