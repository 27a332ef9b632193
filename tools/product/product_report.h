#pragma once

#include <string>
#include <vector>

#include "program/plan/compiled.h"
#include "program/product/product.h"
#include "tools/job.h"

namespace shardline::tools {

/// The most candidates in a text; records have all.
constexpr std::size_t kMostListed = 20;

/// The prediction of a candidate in a record.
struct Prediction {
  ProgramPrice price;
  Seconds scheduled;  ///< from the timeline of its schedule
};

/// The prediction of a compiled program, which must have predictions.
Prediction predict(const Compiled& compiled);

/// The product, its mesh and sizes, the case of each axis, the program of candidate `chosen`
/// (counted from 1), and the collectives that `schedule` fuses with the product beside them. For a
/// conversion, in place of cases: the bytes of the array before and after, in elements of `dtype`.
std::string derivation_text(const Product& product, const std::vector<Candidate>& candidates, Index chosen,
                            const ProgramSchedule& schedule, DType dtype);

/// The candidates with their prices, one line each, and why the first won. Empty if there is
/// nothing to do.
std::string candidates_text(const std::vector<Candidate>& candidates);

/// "candidate 1 is 2.1 times cheaper than 2: it moves 16 MB instead of 64 MB"
std::string why_first(const std::vector<Candidate>& candidates);

/// A predicted time {lower, upper, scheduled}: arithmetic and communication fully overlapped, not
/// overlapped, and as scheduled.
Json predicted_json(const Prediction& prediction);

/// Adds the keys of a product and its candidates. `predicted` has the prediction of each candidate.
void add_product_keys(Json& json, const Product& product, const std::vector<Candidate>& candidates,
                      const std::vector<Prediction>& predicted, Index chosen);

}  // namespace shardline::tools
