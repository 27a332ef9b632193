#pragma once

#include <map>
#include <string>

#include "models/architecture/mlp.h"
#include "program/partition/partition.h"

namespace shardline {

/// Bytes that collectives move over each set of axes.
using AxisBytes = std::map<Axes, Bytes>;

/// The sum over all sets of axes.
Bytes total(const AxisBytes& bytes);

/// Bytes of the collectives in each pass of a program, counted as in the book (table of section 5.2). If p
/// ranks gather or scatter an array of V bytes, it counts V, though each rank sends V (p - 1) / p. An
/// all_reduce counts 2 V. V is the size on a rank with respect to the other axes. Passes and axes without
/// communication have no entry.
std::map<Pass, AxisBytes> pass_traffic(const RankProgram& program);

/// The traffic of one layer under `strategy`, in the form of parse_strategy(). The layer is the two products of
/// make_mlp() forward and backward, with all arrays in `dtype`. `Policy::activations` decides if the gathered
/// input stays for the backward pass (book section 5.1.3: this gather can be skipped). Throws UsageError as
/// parse_strategy().
std::map<Pass, AxisBytes> layer_traffic(const MlpSizes& sizes, const AbstractMesh& mesh, const std::string& strategy,
                                        const Policy& policy, DType dtype);

}  // namespace shardline
