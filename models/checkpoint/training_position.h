#pragma once

#include "runtime/base/shape.h"

namespace shardline {

/// How far a run is: steps done, and samples read. It says all about the data, since sample i is a function of i.
struct TrainingPosition {
  Index steps = 0;
  Index samples = 0;

  bool operator==(const TrainingPosition&) const = default;
};

}  // namespace shardline
