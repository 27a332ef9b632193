#pragma once

#include <map>
#include <string>

#include "models/architecture/mlp.h"
#include "program/partition/partition.h"

namespace shardline {

/// Bytes that collectives move over each set of axes.
using AxisBytes = std::map<Axes, Bytes>;

/// Over all of them.
Bytes total(const AxisBytes& bytes);

/// What the collectives of each pass of a program move, as the book counts it (section 5.2, table): V where p ranks
/// gather or scatter an array of V bytes, though each sends V (p - 1) / p of it, and 2 V where they reduce it on all of
/// them. V is what a rank holds of the array on the other axes. Passes and axes over which nothing moves are not there.
std::map<Pass, AxisBytes> pass_traffic(const RankProgram& program);

/// That of one layer, the two products of make_mlp() forward and backward, with all arrays in `dtype`, under a strategy
/// as parse_strategy() takes it. `Policy::activations` says whether the gathered input is kept for the backward pass
/// (section 5.1.3 names that gather the one that can be skipped). Throws UsageError as parse_strategy().
std::map<Pass, AxisBytes> layer_traffic(const MlpSizes& sizes, const AbstractMesh& mesh, const std::string& strategy,
                                        const Policy& policy, DType dtype);

}  // namespace shardline
