#pragma once

#include <string>
#include <vector>

#include "kernels/experts/places.h"
#include "program/ir/kernel.h"
#include "program/ops/builder.h"

/// What operations on the places of experts share. See kernels/experts/places.
namespace shardline {

/// Arrays of one layer's routing.
struct ExpertRouting {
  ArrayId gate = -1;    ///< [B, T, J], weights of the chosen experts, which sum to one
  ArrayId choice = -1;  ///< i32 [B, T, J], the chosen experts
  ArrayId slot = -1;    ///< i32 [B, T, J], the place with each of them, or -1
  ArrayId taken = -1;   ///< i32 [E, B], how many places of an expert hold tokens of a sequence
  ArrayId load = -1;    ///< i32 [B, R], how often a sequence chose an expert
};

/// An i32 array of dims `dims`.
ArrayId add_integers(Program& program, const std::string& name, const Dims& dims);

/// The constant of an operation on places: the share of the places that hold tokens if all experts are chosen equally
/// often. Costs count so many.
inline constexpr const char* kTakenShare = "taken_share";

/// The constant of operations that give places or count them: C.
inline constexpr const char* kPlaces = "places";

/// That share for T tokens with J choices each, by the sizes of the program.
double taken_share(const Program& program);

/// Says that of `array`, with dims E, B and C, only the places that `taken` counts are in use.
void set_taken(Program& program, ArrayId array, ArrayId taken);

/// The taken places of a block, by kTakenShare, of an array with dims E, B and C.
double taken_rows(const PhaseBlock& block);

/// True if other ranks have tokens of the sequences of this block.
bool shares_tokens(const PhaseBlock& block);

}  // namespace shardline
