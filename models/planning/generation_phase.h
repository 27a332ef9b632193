#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/architecture/transformer.h"
#include "models/strategy/strategies.h"
#include "program/plan/compiled.h"

namespace shardline {

/// What is generated, and how it lies on a mesh.
struct GenerationForm {
  Index sequences = 1;  ///< B
  Index context = 0;    ///< S: the most tokens of a sequence, with those of its prompt
  Index longest = 1;    ///< tokens of the longest prompt
  Index chunk = 0;      ///< the most tokens of each sequence in a run of prefill; 0: see chunk_of()
  DType dtype = DType::f32;
  std::optional<DType> cache_dtype = {};  ///< of stored keys and values; none: as `dtype`
  Strategy decode;                        ///< by it parameters and caches rest
  std::optional<Strategy> prefill = {};   ///< how the work of prefill is split; none: as that of decode
  /// Prefill has parameters and caches of its own, as a server for prefill: they rest as its own strategy says.
  bool own_prefill = false;
  double seen = 1;          ///< the expected share of the places that a query of decode sees, for prices
  CompileOptions how = {};  ///< of all programs; by default every step runs at its place
};

/// Tokens of each sequence in a run of prefill. By default: enough rows for products, and a bounded memory of
/// activations.
Index chunk_of(const GenerationForm& form);

/// A run of one of the two phases.
struct GenerationPhase {
  Model model;
  std::shared_ptr<Compiled> compiled = nullptr;
};

/// Decode as `strategy` splits it, parameters and caches too. This function and the next two derive, check and compile
/// a program. Throws UsageError if a role is not for generation or does not fit, Error if a cache could not be written
/// in place (see check_in_place()).
GenerationPhase decode_phase(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                             const Strategy& strategy);
/// The first chunk of prefill as `strategy` splits its work; parameters and caches rest as GenerationForm::decode says,
/// or under GenerationForm::own_prefill as `strategy` does.
GenerationPhase first_phase(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                            const Strategy& strategy);
/// A later chunk, of which the caches hold the tokens before.
GenerationPhase later_phase(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                            const Strategy& strategy);

/// Bytes of the caches of a phase on `rank`.
Bytes cache_bytes(const GenerationPhase& phase, Index rank);

/// Positions by place, if S is split over axes of these sizes, major first: a position belongs to the coordinate
/// q mod p of the first axis, (q div p) mod p' of the next. Blocks have the sizes of the nested block rule.
std::vector<std::int32_t> striped_places(Index places, const std::vector<Index>& axis_sizes);

}  // namespace shardline
