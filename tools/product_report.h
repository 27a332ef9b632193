#pragma once

#include <string>
#include <vector>

#include "program/product.h"
#include "tools/job.h"

namespace shardline::tools {

/// Candidates that text lists, at most; records have them all.
constexpr std::size_t kMostListed = 20;

/// The product, its mesh and sizes, the case of each axis and the program of candidate `chosen`, counted from 1.
std::string derivation_text(const Product& product, const std::vector<Candidate>& candidates, Index chosen,
                            DType dtype);

/// The candidates with their prices, a line each, and why the first won.
std::string candidates_text(const std::vector<Candidate>& candidates);

/// "candidate 1 is 2.1 times cheaper than 2: it moves 16 MB instead of 64 MB"
std::string why_first(const std::vector<Candidate>& candidates);

/// A predicted time: {lower, upper, scheduled}: arithmetic and communication perfectly overlapped, not at all, and as
/// the steps are scheduled, one after the other.
Json predicted_json(const ProgramPrice& price);

/// Adds the keys that tell of a product and its candidates; `predicted` are what the record predicts of each of them.
void add_product_keys(Json& json, const Product& product, const std::vector<Candidate>& candidates,
                      const std::vector<ProgramPrice>& predicted, Index chosen);

}  // namespace shardline::tools
