#pragma once

#include <cstdint>
#include <vector>

#include "program/ir/rank_program.h"
#include "runtime/layout/tensor.h"

namespace shardline {

/// The value of every array of a program, by ArrayId: f64, or i32 for tokens.
using Values = std::vector<Tensor>;

/// Values of the inputs, a pure function of `seed` and the arrays' names. The other arrays are empty.
/// Parameters are of size 0.5, or near 1 if they have one dim. Second moments are positive. Ids are in the
/// vocabulary V.
Values random_inputs(const Program& program, std::uint64_t seed);

/// Runs the logical program on whole arrays from its inputs.
Values run_unsharded(const Program& program, Values values);

struct Simulation {
  Index blocks = 0;        ///< compared with the unsharded program
  Index empty_blocks = 0;  ///< of these: without elements
};

/// Runs a per-rank program with all its ranks in this process: computations by run_phase() on every rank's
/// blocks, conversions by slicing and joining blocks. Compares every version of every array on every rank with
/// `reference`, the values of the unsharded program: its shape, its elements within 1e-10 of the array's
/// largest magnitude, and equal bits of replicas. Unreduced versions are first summed (or their maximum taken)
/// over their unreduced axes. Throws Error with step, rank and array if they differ.
Simulation simulate(const RankProgram& program, const Values& reference);

}  // namespace shardline
