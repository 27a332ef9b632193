#include "models/data/made_data.h"

#include <cmath>
#include <limits>

#include "runtime/base/check.h"
#include "runtime/base/with_type.h"

namespace shardline {
namespace {

/// Where a column of the target comes from.
struct Taught {
  Index from = 0;
  double sign = 1;
};

template <class T>
void fill_rows(const CounterRng& rng, const std::vector<Taught>& columns, Range samples, Index width, View<T> into) {
  const double half_width = std::sqrt(3.0);  // of a uniform distribution of variance 1
  Index at = 0;
  for (Index sample = samples.begin; sample < samples.end; ++sample) {
    for (const Taught& column : columns) {
      const double value = half_width * (2 * rng.uniform(sample * width + column.from) - 1);
      into[at++] = from_double<T>(column.sign * value);
    }
  }
}

}  // namespace

MadeData::MadeData(Index d_model, std::uint64_t seed)
    : d_model_(d_model), training_(seed, "made rows"), held_out_(seed, "held-out rows"), teacher_(seed, "teacher") {}

Tensor MadeData::block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const {
  SHARDLINE_CHECK(input < 2, "made data has In and Target, no input {}", input);
  std::vector<Taught> taught;
  for (Index column = columns.begin; column < columns.end; ++column) {
    const bool is_target = input == 1;
    const double sign = teacher_.bits(d_model_ + column) % 2 == 0 ? 1 : -1;
    taught.push_back(is_target ? Taught{teacher_.below(column, d_model_), sign} : Taught{column, 1});
  }
  const CounterRng& rng = series == Series::training ? training_ : held_out_;
  Tensor block(dtype, {samples.size(), columns.size()});
  with_type(dtype, [&](auto element) { fill_rows(rng, taught, samples, d_model_, block.view<decltype(element)>()); });
  return block;
}

Index MadeData::held_out() const { return std::numeric_limits<Index>::max(); }

}  // namespace shardline
