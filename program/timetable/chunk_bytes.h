#pragma once

#include <vector>

#include "program/timetable/timetable.h"
#include "runtime/base/units.h"

namespace shardline {

/// What tasks hold, by chunk, on a rank of its stage.
struct ChunkBytes {
  std::vector<Bytes> activations = {};       ///< what F leaves for B, or for I and W
  std::vector<Bytes> for_weights = {};       ///< of these, what W reads: it stays after I
  std::vector<Bytes> gradients = {};         ///< what I leaves for W
  std::vector<Bytes> working_forward = {};   ///< what else is there while F runs
  std::vector<Bytes> working_backward = {};  ///< the same of B
  std::vector<Bytes> working_split = {};     ///< the same of I and W
};

/// By stage: the most bytes that its tasks hold at one time, in the order of `timetable`. `bytes` has an entry for each
/// chunk.
std::vector<Bytes> most_held(const Timetable& timetable, const ChunkBytes& bytes);

}  // namespace shardline
