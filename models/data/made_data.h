#pragma once

#include "models/data/sample_source.h"
#include "runtime/base/counter_rng.h"

namespace shardline {

/// Rows for a model from In[B,D] to Target[B,D]. The elements of In are uniform with mean 0 and variance 1. The teacher
/// is a fixed linear map, a matrix with one entry, 1 or -1, in each column: element d of a target row is an element of
/// the same row of In, or its negative. An MLP can learn it; without an activation it needs F >= D for all of it. Every
/// element depends on the seed, the sample and its column alone.
class MadeData final : public SampleSource {
 public:
  MadeData(Index d_model, std::uint64_t seed);

  /// Input 0 is In, input 1 is Target.
  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override;
  Index held_out() const override;

 private:
  Index d_model_;
  CounterRng training_;
  CounterRng held_out_;
  CounterRng teacher_;
};

}  // namespace shardline
