#pragma once

#include <string>
#include <vector>

#include "program/plan/compiled.h"
#include "program/product/product.h"
#include "tools/job.h"

namespace shardline::tools {

/// Candidates that text lists, at most; records have them all.
constexpr std::size_t kMostListed = 20;

/// What a record predicts of a candidate.
struct Prediction {
  ProgramPrice price;
  Seconds scheduled;  ///< by the timeline of its schedule
};

/// Of a compiled program that has predictions.
Prediction predict(const Compiled& compiled);

/// The product, its mesh and sizes, the case of each axis, the program of candidate `chosen`, counted from 1, and which
/// of its collectives `schedule` fuses with the product beside them. Of a conversion, in the place of cases, the bytes
/// of the array before and after in elements of `dtype`.
std::string derivation_text(const Product& product, const std::vector<Candidate>& candidates, Index chosen,
                            const ProgramSchedule& schedule, DType dtype);

/// The candidates with their prices, a line each, and why the first won; nothing when there is nothing to do.
std::string candidates_text(const std::vector<Candidate>& candidates);

/// "candidate 1 is 2.1 times cheaper than 2: it moves 16 MB instead of 64 MB"
std::string why_first(const std::vector<Candidate>& candidates);

/// A predicted time: {lower, upper, scheduled}: arithmetic and communication perfectly overlapped, not at all, and as
/// the program is scheduled.
Json predicted_json(const Prediction& prediction);

/// Adds the keys that tell of a product and its candidates; `predicted` are what the record predicts of each of them.
void add_product_keys(Json& json, const Product& product, const std::vector<Candidate>& candidates,
                      const std::vector<Prediction>& predicted, Index chosen);

}  // namespace shardline::tools
