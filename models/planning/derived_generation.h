#pragma once

#include "models/planning/generation_closed_form.h"
#include "models/planning/generation_phase.h"
#include "roofline/price/hardware.h"

namespace shardline {

// What generation takes by its derived programs, beside the closed form: which collectives a strategy needs, and what
// they add to reading and computing. All functions are pure and need no MPI.

/// The collectives of one layer of a program.
struct LayerMoves {
  Index collectives = 0;
  Index rounds = 0;  ///< that wait for each other: no collective of a round needs the result of another one of it
  Bytes sent = {};   ///< leaving the rank that sends most
};

/// Those of the steps whose region has this layer.
LayerMoves moves_of_layer(const RankProgram& program, int layer);

/// What generates. No program has weights or caches in int8 or int4: products, activations and all that moves are those
/// of a program in `dtype`, and so are weights that a strategy gathers; its caches are in `cache_dtype`. Reading and
/// memory count the bytes that are stored.
struct DerivedQuery {
  TransformerConfig config;
  Index sequences = 1;                    ///< B of decode
  Index context = 0;                      ///< tokens in each cache; a step reads them all
  Index prompt_tokens = 1;                ///< of one prompt
  double utilisation = 1;                 ///< share of the peak that prefill reaches
  DType dtype = DType::bf16;              ///< of the programs
  std::optional<DType> cache_dtype = {};  ///< of their caches; none: as `dtype`
  Bytes weight{2};                        ///< of a stored element of a parameter
  Bytes cache{2};                         ///< of a stored element of keys and values
};

/// A decode step under a strategy, on the busiest rank.
struct DerivedDecode {
  AbstractMesh mesh;
  Strategy strategy;
  DecodeStep step;  ///< reading and computing; weights that are gathered are read too
  /// Of the whole step, what its schedule does not hide beside reading and computing. time() is at least what the
  /// busiest link needs.
  Seconds collectives;
  Seconds all_reduces = {};  ///< the part of `collectives` that AllReduces take
  LayerMoves layer;          ///< of one layer in the middle
  Bytes memory = {};         ///< parameters and caches of a rank

  Seconds reading() const { return step.parameters + step.caches; }
  Seconds flops() const { return step.flops + step.attention; }
  Seconds time() const { return step.time() + collectives; }
};

/// A prompt that is computed at once under a strategy, on the busiest rank.
struct DerivedPrefill {
  Strategy strategy;
  PrefillTime work;
  Seconds collectives;  ///< as in DerivedDecode
  LayerMoves layer;

  Seconds time() const { return work.total() + collectives; }
};

/// Decode as `strategy` splits it on the ranks of `mesh`. A few layers are derived, checked, scheduled and priced; one
/// in their middle stands for those that they lack. Reads sequences and context of the query. Of experts a batch reads
/// those that some token chooses, as weights_read() counts them. Throws as decode_phase(), and UsageError if no program
/// has a part of the model.
DerivedDecode derived_decode(const DerivedQuery& query, const AbstractMesh& mesh, const Strategy& strategy,
                             const roofline::Hardware& hardware);

/// What moves in a layer of that step, without prices. Throws as derived_decode().
LayerMoves layer_of_decode(const DerivedQuery& query, const AbstractMesh& mesh, const Strategy& strategy);

/// The first prompt of one sequence, whole, as `strategy` splits its work; parameters and caches rest as `decode` says.
/// Reads prompt_tokens and utilisation of the query. Throws as derived_decode().
DerivedPrefill derived_prefill(const DerivedQuery& query, const AbstractMesh& mesh, const Strategy& decode,
                               const Strategy& strategy, const roofline::Hardware& hardware);

}  // namespace shardline
