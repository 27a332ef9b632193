#include "program/plan/bundle.h"

#include <gtest/gtest.h>

#include <numeric>

namespace shardline {
namespace {

Tensor counting_from(float first, Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  std::iota(tensor.view<float>().begin(), tensor.view<float>().begin() + tensor.size(), first);
  return tensor;
}

/// Also with scalars and empty arrays.
TEST(Bundle, HoldsArraysSideBySideAndGivesThemBack) {
  const std::vector<Tensor> arrays{counting_from(1, {2, 3}), counting_from(0, {0, 4}), counting_from(7, {}),
                                   counting_from(8, {2}), counting_from(0, {0})};
  std::vector<const Tensor*> parts;
  for (const Tensor& array : arrays) parts.push_back(&array);
  ASSERT_EQ(bundle_size(parts), 9);
  Tensor bundle(DType::f32, {9});
  pack_bundle(parts, bundle);
  for (Index i = 0; i < 9; ++i) EXPECT_EQ(bundle.view<float>()[i], static_cast<float>(i + 1));

  std::vector<Tensor> copies;
  for (const Tensor& array : arrays) copies.push_back(Tensor::zeros(DType::f32, array.shape()));
  std::vector<Tensor*> results;
  for (Tensor& copy : copies) results.push_back(&copy);
  unpack_bundle(bundle, results);
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    for (Index i = 0; i < arrays[k].size(); ++i) {
      EXPECT_EQ(copies[k].view<float>()[i], arrays[k].view<float>()[i]) << "array " << k << ", element " << i;
    }
  }
}

TEST(Bundle, OfEmptyArraysIsEmpty) {
  Tensor empty(DType::f64, {0, 2});
  Tensor bundle(DType::f64, {bundle_size({&empty, &empty})});
  EXPECT_EQ(bundle.size(), 0);
  pack_bundle({&empty, &empty}, bundle);
  unpack_bundle(bundle, {&empty, &empty});
}

}  // namespace
}  // namespace shardline
