// Tokens to the places of their experts and back, against loops over all choices in f64: whole arrays, parts of E, C
// and T, and empty ones. Places without a token hold NaN before, which must reach no result.

#include "kernels/experts/places.h"

#include <functional>

#include "tests/kernels/experts/experts_support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_stored;
using testing::Ids;
using testing::nans;
using testing::slice;
using testing::stored_array;
using testing::wide;

constexpr Index kSequences = 2, kTokens = 7, kChosen = 2, kExperts = 4, kPlaces = 3, kWidth = 37;
constexpr Range kAllExperts{0, kExperts}, kAllPlaces{0, kPlaces};
const Shape kPlacesShape{kExperts, kSequences, kPlaces, kWidth};
const Shape kTokensShape{kSequences, kTokens, kWidth};

/// Choices of the first three experts; more than there are places for, and none of the last expert.
struct Routed {
  Ids choice{{kSequences, kTokens, kChosen}}, slot{{kSequences, kTokens, kChosen}};

  Routed() {
    for (Index b = 0; b < kSequences; ++b) {
      std::vector<std::int32_t> load(kExperts, 0);
      for (Index t = 0; t < kTokens; ++t) {
        const Index first = (b + t * t) % 3;
        for (Index j = 0; j < kChosen; ++j) {
          const Index at = (b * kTokens + t) * kChosen + j;
          const Index e = j == 0 ? first : (first + 1 + t % 2) % 3;
          std::int32_t& count = load[static_cast<std::size_t>(e)];
          choice[at] = static_cast<std::int32_t>(e);
          slot[at] = count < kPlaces ? count : -1;
          ++count;
        }
      }
    }
  }

  Places places(Range experts = kAllExperts, Range of_places = kAllPlaces) const {
    return {.choice_BTJ = choice.view(), .slot_BTJ = slot.view(), .experts = experts, .places = of_places};
  }
};

/// Calls body(choice, token, place) for all choices of all experts that have a place.
void for_each_choice(const Routed& routed, const std::function<void(Index, Index, Index)>& body) {
  for (Index at = 0; at < routed.choice.size(); ++at) {
    if (routed.slot[at] < 0) continue;
    const Index token = at / kChosen;
    body(at, token, (routed.choice[at] * kSequences + token / kTokens) * kPlaces + routed.slot[at]);
  }
}

/// Random values where tokens have places, NaN elsewhere.
template <class T>
Array<T> at_places(const Routed& routed, std::string_view name) {
  Array<T> array = nans<T>(kPlacesShape);
  const Array<T> values = stored_array<T>(name, kPlacesShape);
  for_each_choice(routed, [&](Index, Index, Index place) {
    for (Index d = place * kWidth; d < (place + 1) * kWidth; ++d) array[d] = values[d];
  });
  return array;
}

/// xs[E, B, C, D] of factor(choice) n, and `elsewhere` at places without a token.
template <class T>
Array<double> sent(const Routed& routed, const Array<T>& n, double elsewhere,
                   const std::function<double(Index)>& factor) {
  Array<double> xs(kPlacesShape, elsewhere);
  for_each_choice(routed, [&](Index choice, Index token, Index place) {
    for (Index d = 0; d < kWidth; ++d) xs[place * kWidth + d] = factor(choice) * wide(n[token * kWidth + d]);
  });
  return xs;
}

/// y[B, T, D]: sums of factor(choice) ys over the choices in these experts and places.
template <class T>
Array<double> gathered(const Routed& routed, const Array<T>& ys, const Places& part,
                       const std::function<double(Index)>& factor) {
  Array<double> y(kTokensShape);
  for_each_choice(routed, [&](Index choice, Index token, Index place) {
    const Index e = routed.choice[choice];
    const Index slot = routed.slot[choice];
    if (e < part.experts.begin || e >= part.experts.end || slot < part.places.begin || slot >= part.places.end) return;
    for (Index d = 0; d < kWidth; ++d) y[token * kWidth + d] += factor(choice) * wide(ys[place * kWidth + d]);
  });
  return y;
}

double one(Index) { return 1; }

/// The block of an array [E, B, C, D].
template <class T>
Array<T> block_of(const Array<T>& whole, Range experts, Range of_places) {
  return slice(slice(whole, 0, experts), 2, of_places);
}

const std::vector<std::pair<Range, Range>> kParts{{kAllExperts, kAllPlaces}, {{0, 2}, kAllPlaces}, {{3, 4}, kAllPlaces},
                                                  {kAllExperts, {1, 3}},     {{1, 3}, {0, 1}},     {{2, 2}, kAllPlaces},
                                                  {kAllExperts, {3, 3}}};

template <class T>
class ExpertPlaces : public ::testing::Test {};
TYPED_TEST_SUITE(ExpertPlaces, testing::StoredTypes);

TYPED_TEST(ExpertPlaces, DispatchWritesPlacesOfTokensAlone) {
  using T = TypeParam;
  const Routed routed;
  const Array<T> n = stored_array<T>("n", kTokensShape);
  for (const bool partial : {false, true}) {
    const Array<double> whole = sent(routed, n, partial ? 0 : std::nan(""), one);
    for (const auto& [experts, of_places] : kParts) {
      const Array<double> expected = block_of(whole, experts, of_places);
      Array<T> xs = nans<T>(expected.shape);
      dispatch<T>(n.view(), routed.places(experts, of_places), partial, xs.view());
      expect_stored(xs, expected);
    }
  }
}

/// Ranks with parts of T: the arrays sum to the whole, with zeros at places without a token.
TYPED_TEST(ExpertPlaces, PartsOfTokensSumToTheWhole) {
  using T = TypeParam;
  const Routed routed;
  const Array<T> n = stored_array<T>("n", kTokensShape), dy = stored_array<T>("dy", kTokensShape);
  const Array<T> ys = at_places<T>(routed, "ys");
  const Array<SumOf<T>> gate = stored_array<SumOf<T>>("gate", routed.choice.shape);
  Array<double> xs_sum(kPlacesShape), dys_sum(kPlacesShape);
  for (const Range tokens : {Range{0, 4}, Range{4, 4}, Range{4, kTokens}}) {
    const Ids choice = slice(routed.choice, 1, tokens), slot = slice(routed.slot, 1, tokens);
    const Places places{choice.view(), slot.view(), kAllExperts, kAllPlaces};
    const Array<SumOf<T>> own_gate = slice(gate, 1, tokens);
    Array<T> xs = nans<T>(kPlacesShape), dys = nans<T>(kPlacesShape);
    Array<SumOf<T>> dgate = nans<SumOf<T>>(choice.shape);
    dispatch<T>(slice(n, 1, tokens).view(), places, true, xs.view());
    combine_grad<T>(slice(dy, 1, tokens).view(), ys.view(), own_gate.view(), places, true, dys.view(), dgate.view());
    for (Index i = 0; i < xs.size(); ++i) xs_sum[i] += wide(xs[i]);
    for (Index i = 0; i < xs.size(); ++i) dys_sum[i] += wide(dys[i]);
  }
  EXPECT_EQ(xs_sum.values, sent(routed, n, 0, one).values);
  Array<T> dys_rounded(kPlacesShape);
  for (Index i = 0; i < dys_sum.size(); ++i) dys_rounded[i] = from_double<T>(dys_sum[i]);
  expect_stored(dys_rounded, sent(routed, dy, 0, [&](Index choice) { return wide(gate[choice]); }));
}

TYPED_TEST(ExpertPlaces, SumsOverThePlacesOfATokenAlone) {
  using T = TypeParam;
  const Routed routed;
  const Array<T> ys = at_places<T>(routed, "ys");
  const Array<SumOf<T>> gate = stored_array<SumOf<T>>("gate", routed.choice.shape);
  for (const auto& [experts, of_places] : kParts) {
    const Places places = routed.places(experts, of_places);
    const Array<T> own = block_of(ys, experts, of_places);
    Array<T> y = nans<T>(kTokensShape), dn = nans<T>(kTokensShape);
    combine<T>(own.view(), gate.view(), places, y.view());
    dispatch_grad<T>(own.view(), places, dn.view());
    expect_stored(y, gathered(routed, ys, places, [&](Index choice) { return wide(gate[choice]); }));
    expect_stored(dn, gathered(routed, ys, places, one));
  }
}

TYPED_TEST(ExpertPlaces, GradientsOfCombine) {
  using T = TypeParam;
  const Routed routed;
  const Array<T> dy = stored_array<T>("dy", kTokensShape), ys = at_places<T>(routed, "ys");
  const Array<SumOf<T>> gate = stored_array<SumOf<T>>("gate", routed.choice.shape);
  const Array<double> whole = sent(routed, dy, std::nan(""), [&](Index choice) { return wide(gate[choice]); });
  for (const auto& [experts, of_places] : kParts) {
    const Places places = routed.places(experts, of_places);
    Array<double> expected_dgate(gate.shape);
    for_each_choice(routed, [&, &own = places](Index choice, Index token, Index place) {
      const Index e = routed.choice[choice], slot = routed.slot[choice];
      if (e < own.experts.begin || e >= own.experts.end || slot < own.places.begin || slot >= own.places.end) return;
      for (Index d = 0; d < kWidth; ++d) {
        expected_dgate[choice] += wide(dy[token * kWidth + d]) * wide(ys[place * kWidth + d]);
      }
    });
    const Array<double> expected = block_of(whole, experts, of_places);
    Array<T> dys = nans<T>(expected.shape);
    Array<SumOf<T>> dgate = nans<SumOf<T>>(gate.shape);
    combine_grad<T>(dy.view(), block_of(ys, experts, of_places).view(), gate.view(), places, false, dys.view(),
                    dgate.view());
    expect_stored(dys, expected);
    expect_stored(dgate, expected_dgate);
  }
}

TYPED_TEST(ExpertPlaces, NoTokensAndNoSequences) {
  using T = TypeParam;
  for (const auto& [sequences, tokens] : {std::pair<Index, Index>{2, 0}, {0, 3}}) {
    const Ids choice({sequences, tokens, 2}), slot({sequences, tokens, 2});
    const Places places{choice.view(), slot.view(), kAllExperts, kAllPlaces};
    const Array<T> n({sequences, tokens, 5});
    const Array<SumOf<T>> gate({sequences, tokens, 2});
    Array<T> xs({kExperts, sequences, kPlaces, 5}, from_double<T>(1)), y(n.shape);
    Array<SumOf<T>> dgate(gate.shape);
    dispatch<T>(n.view(), places, true, xs.view());
    expect_stored(xs, Array<double>(xs.shape));
    dispatch_grad<T>(xs.view(), places, y.view());
    combine<T>(xs.view(), gate.view(), places, y.view());
    combine_grad<T>(y.view(), xs.view(), gate.view(), places, true, xs.view(), dgate.view());
  }
}

TEST(ExpertPlaces, RefuseShapesThatDoNotFit) {
  const Routed routed;
  const Array<float> n(kTokensShape);
  Array<float> xs(kPlacesShape), narrow({kExperts, kSequences, kPlaces, kWidth - 1});
  EXPECT_THROW(dispatch<float>(n.view(), routed.places(), false, narrow.view()), Error);
  EXPECT_THROW(dispatch<float>(n.view(), routed.places({0, 3}), false, xs.view()), Error);
  EXPECT_THROW(dispatch<float>(n.view(), routed.places(kAllExperts, {0, 2}), false, xs.view()), Error);
}

}  // namespace
}  // namespace shardline::kernels
