#pragma once

#include <optional>
#include <vector>

#include "models/planning/generation_closed_form.h"
#include "models/planning/generation_links.h"

namespace shardline {

/// The question to the frontier of latency and throughput (book sections 7.1.7 and 8.2).
struct FrontierQuery {
  GenerationModel model;
  DecodeLayer layer;
  GenerationChip chip;
  GenerationLinks links;
  double context = 0;  ///< tokens in each cache
};

/// A decode step of a batch on a slice, and the fastest way to split it.
struct FrontierPoint {
  GenerationLoad load;
  DecodeStep step;
  LinkTime links;
  bool fits = true;  ///< weights and caches, in the memory of the chips; true if that is not known
  bool best =
      false;  ///< no other point of the frontier is faster with as much throughput a chip, or the other way round

  /// What moves hides behind the rest: the closed form of section 7.1.5, or the links where they take longer.
  Seconds lower() const;
  /// Nothing overlaps.
  Seconds upper() const { return step.time() + links.time; }
  bool link_bound() const { return links.time > step.time(); }
  /// By lower().
  double tokens_per_chip() const { return load.sequences / (lower().value * load.chips); }
};

/// Throws as decode_step().
FrontierPoint frontier_point(const FrontierQuery& query, double chips, double sequences);

/// For each number of chips the batches 1, 2, 4, ... and the largest that fits, up to `most_sequences`, in this order.
/// None of chips that do not hold the weights and one cache. `best` is set over all of them.
std::vector<FrontierPoint> frontier(const FrontierQuery& query, const std::vector<Index>& chips, Index most_sequences);

/// The point with the most tokens a chip of which lower() is at most `limit`: over all batches that fit, up to
/// `most_sequences`. Of equal ones the first: on the first of `chips`, with the fewest sequences. None if no batch is
/// so fast.
std::optional<FrontierPoint> best_within(const FrontierQuery& query, const std::vector<Index>& chips,
                                         Index most_sequences, Seconds limit);

}  // namespace shardline
