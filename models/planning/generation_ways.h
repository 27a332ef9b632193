#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/planning/chip_mesh.h"
#include "models/planning/derived_generation.h"

namespace shardline {

/// An axis of a mesh that does not have a name yet.
struct RoleOfRanks {
  std::string role;
  Index ranks = 1;
};

/// A way to split generation over ranks: its axes in mesh order, each with a role of generation.
using GenerationWay = std::vector<RoleOfRanks>;

/// The hardware of the ranks of a mesh.
using HardwareOf = std::function<roofline::Hardware(const ChipMesh&)>;

/// 1D (book section 7.3): tp_rep, up to one rank for each key-value head. On more ranks, and beside it on fewer, rep_b
/// and rep_s split the caches further: two ways. With experts also ep_rep, if no rank is left without heads or experts.
std::vector<GenerationWay> one_axis_ways(const TransformerConfig& config, Index ranks);

/// 2D (book exercise 7.7): every way to give all ranks to ws, tp_rep (at most one rank for each key-value head) and, of
/// what is left, rep_b. None of fewer than four ranks.
std::vector<GenerationWay> two_axes_ways(const TransformerConfig& config, Index ranks);

/// dp and fsdp: parameters whole on every rank, or gathered in every step.
std::vector<GenerationWay> data_parallel_ways(Index ranks);

/// A way with names for its axes, on a mesh that may lie over torus axes.
struct NamedWay {
  ChipMesh mesh;
  Strategy strategy;
};

/// With the axes of the book: X splits D or the batch, Y splits heads and F, Z what is left of the heads, and caches.
NamedWay named_way(const GenerationWay& way);
/// With `axes` in their order. None if there are fewer of them than the way has.
std::optional<NamedWay> named_way(const GenerationWay& way, const Axes& axes);
/// With the axes of the book, laid_every_way() over a chip's torus. Empty if it is too small.
std::vector<NamedWay> laid_ways(const roofline::Chip& chip, const GenerationWay& way);

/// What is derived of a way.
struct DerivedGeneration {
  roofline::TorusLayout layout;
  DerivedDecode decode;
  DerivedPrefill prefill;
};

/// Those of `ways` with the fastest step of decode; of equal ones the first. Prefill beside it splits its work as
/// decode does, or splits the tokens of the prompt over the axes that do not split heads, whichever is faster. None if
/// there are no ways. Throws as derived_decode().
std::optional<DerivedGeneration> fastest_generation(const DerivedQuery& query, const std::vector<NamedWay>& ways,
                                                    const HardwareOf& hardware_of);

/// A way, and what one layer of decode moves under it.
struct SentByWay {
  NamedWay way;
  LayerMoves layer;
};

/// The one of `ways` that sends least; of equal ones the first. None if there are no ways.
std::optional<SentByWay> least_sent(const DerivedQuery& query, const std::vector<GenerationWay>& ways);

/// Exercise 7.7 by derived programs: the smallest power of two of ranks, at most `most`, from which on 2D sends less
/// than 1D, with caches by batch, on each power of two. None if 2D does not on `most`.
std::optional<Index> least_ranks_for_two_axes(const DerivedQuery& query, Index most);

}  // namespace shardline
