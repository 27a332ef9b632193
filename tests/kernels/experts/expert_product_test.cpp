// Products of the tokens of each expert with its weights, against loops in f64. Places that are not taken hold NaN
// before; none may reach a result, and their results must stay.

#include "kernels/experts/expert_product.h"

#include "tests/kernels/experts/experts_support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_stored;
using testing::Ids;
using testing::nans;
using testing::stored_array;
using testing::wide;

/// The sizes of a layer, how many places are taken, and which part of the places an array holds.
struct Case {
  Index experts, sequences, in, out;
  Range places;
  std::vector<std::int32_t> taken_EB;
};

/// Few rows and many, so many that they are multiplied in several products, for one sequence alone and for several.
const std::vector<Case> kCases{
    {3, 2, 5, 6, {0, 4}, {0, 1, 4, 2, 0, 0}},
    {3, 2, 5, 6, {0, 2}, {0, 1, 4, 2, 0, 0}},
    {3, 2, 5, 6, {2, 4}, {0, 1, 4, 2, 3, 3}},
    {3, 2, 5, 6, {3, 3}, {0, 1, 4, 2, 3, 3}},
    {1, 1, 64, 96, {0, 1}, {1}},
    {2, 1, 64, 96, {0, 700}, {700, 131}},
    {2, 3, 70, 72, {0, 150}, {150, 0, 149, 1, 150, 150}},
    {2, 9, 72, 70, {10, 60}, {60, 59, 58, 57, 56, 55, 54, 53, 52, 0, 9, 10, 11, 12, 60, 60, 60, 60}},
    {1, 2, 2, 20000, {0, 300}, {300, 200}},  // wide rows, more than the workspace has room for
    {2, 0, 5, 6, {0, 4}, {}},
    {0, 2, 5, 6, {0, 4}, {}},
};

/// Calls body(e, row) for the rows in [E, B, C] that are taken.
template <class Body>
void for_each_taken(const Case& c, Body body) {
  for (Index e = 0; e < c.experts; ++e) {
    for (Index b = 0; b < c.sequences; ++b) {
      const std::int32_t taken = c.taken_EB[static_cast<std::size_t>(e * c.sequences + b)];
      for (Index place = c.places.begin; place < c.places.end && place < taken; ++place) {
        body(e, (e * c.sequences + b) * c.places.size() + place - c.places.begin);
      }
    }
  }
}

Ids taken_of(const Case& c) {
  Ids taken({c.experts, c.sequences});
  taken.values = c.taken_EB;
  return taken;
}

/// Random rows where places are taken, NaN elsewhere.
template <class T>
Array<T> rows_of(const Case& c, std::string_view name, Index width) {
  Array<T> array = nans<T>({c.experts, c.sequences, c.places.size(), width});
  const Array<T> values = stored_array<T>(name, array.shape);
  for_each_taken(c, [&](Index, Index row) {
    for (Index i = row * width; i < (row + 1) * width; ++i) array[i] = values[i];
  });
  return array;
}

template <class T>
class ExpertProduct : public ::testing::Test {};
TYPED_TEST_SUITE(ExpertProduct, testing::StoredTypes);

TYPED_TEST(ExpertProduct, EqualsItsSums) {
  using T = TypeParam;
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    const Case& c = kCases[i];
    const Array<T> x = rows_of<T>(c, "x", c.in);
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(fmt::format("case {}, {}", i, transposed ? "transposed" : "as it is"));
      const Array<T> w = stored_array<T>("w", {c.experts, transposed ? c.out : c.in, transposed ? c.in : c.out});
      Array<T> y = nans<T>({c.experts, c.sequences, c.places.size(), c.out});
      Array<double> expected = nans<double>(y.shape);
      for_each_taken(c, [&](Index e, Index row) {
        for (Index k = 0; k < c.out; ++k) {
          double sum = 0;
          for (Index j = 0; j < c.in; ++j) {
            const Index at = transposed ? k * c.in + j : j * c.out + k;
            sum += wide(x[row * c.in + j]) * wide(w[e * c.in * c.out + at]);
          }
          expected[row * c.out + k] = sum;
        }
      });
      expert_product<T>(x.view(), w.view(), transposed, taken_of(c).view(), c.places, y.view());
      expect_stored(y, expected);
    }
  }
}

TYPED_TEST(ExpertProduct, WeightGradientsEqualTheirSums) {
  using T = TypeParam;
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    const Case& c = kCases[i];
    SCOPED_TRACE(fmt::format("case {}", i));
    const Array<T> x = rows_of<T>(c, "x", c.in), dy = rows_of<T>(c, "dy", c.out);
    Array<T> dw = nans<T>({c.experts, c.in, c.out});
    Array<double> expected(dw.shape);
    for_each_taken(c, [&](Index e, Index row) {
      for (Index j = 0; j < c.in; ++j) {
        for (Index k = 0; k < c.out; ++k) {
          expected[(e * c.in + j) * c.out + k] += wide(x[row * c.in + j]) * wide(dy[row * c.out + k]);
        }
      }
    });
    expert_weight_grad<T>(x.view(), dy.view(), taken_of(c).view(), c.places, dw.view());
    expect_stored(dw, expected);
  }
}

TEST(ExpertProduct, RefusesShapesThatDoNotFit) {
  const Array<float> x({2, 3, 4, 5}), w({2, 5, 6});
  Array<float> y({2, 3, 4, 6}), dw({2, 5, 5});
  const Ids taken({2, 3}), few({2, 2});
  EXPECT_THROW(expert_product<float>(x.view(), w.view(), false, few.view(), {0, 4}, y.view()), Error);
  EXPECT_THROW(expert_product<float>(x.view(), w.view(), false, taken.view(), {0, 3}, y.view()), Error);
  EXPECT_THROW(expert_product<float>(x.view(), x.view(), false, taken.view(), {0, 4}, y.view()), Error);
  EXPECT_THROW(expert_weight_grad<float>(x.view(), y.view(), taken.view(), {0, 4}, dw.view()), Error);
}

}  // namespace
}  // namespace shardline::kernels
