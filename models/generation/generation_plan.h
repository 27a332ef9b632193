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
  Index chunk = 0;      ///< the most tokens of each sequence in a run of prefill; 0: usual_chunk()
  DType dtype = DType::f32;
  Strategy decode;                       ///< by it parameters and caches rest
  std::optional<Strategy> prefill = {};  ///< how the work of prefill is split; none: as that of decode
  double seen = 1;                       ///< the expected share of the places that a query of decode sees, for prices
};

/// Tokens of each of `sequences` in a run of prefill: enough rows for products, and a bounded memory of activations.
Index usual_chunk(Index sequences, Index longest);

/// A run of one of the two phases.
struct GenerationPhase {
  Model model;
  std::shared_ptr<Compiled> compiled = nullptr;
};

/// Decode as `strategy` splits it, parameters and caches too.
GenerationPhase decode_phase(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                             const Strategy& strategy);
/// The first chunk of prefill as `strategy` splits its work; parameters and caches rest as GenerationForm::decode says.
GenerationPhase first_phase(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                            const Strategy& strategy);

/// Prefill and decode as sharded programs over one state of parameters and caches (book sections 7.1 to 7.3), compiled
/// for the ranks of a mesh. Pure; does not allocate the arrays.
class GenerationPlan {
 public:
  /// Throws UsageError if a strategy does not fit the mesh or makes stages, or if the longest prompt does not fit the
  /// context. Throws Error if a cache could not be written in place, see check_in_place().
  GenerationPlan(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh);

  const GenerationForm& form() const { return form_; }
  /// Prefill while the caches hold nothing; of later chunks, if prompts have some; decode.
  const GenerationPhase& first() const { return first_; }
  const std::optional<GenerationPhase>& later() const { return later_; }
  const GenerationPhase& decode() const { return decode_; }
  /// Tokens of each sequence in a run of prefill.
  Index chunk() const { return chunk_; }
  Index vocabulary() const { return vocabulary_; }
  /// The position that each place of the caches holds. Where axes split the places, positions go round their ranks, so
  /// that every rank has an equal share of each sequence.
  const std::vector<std::int32_t>& where() const { return where_; }
  std::vector<const Compiled*> programs() const;
  /// Prices for the expected times of the programs. Throws Error if there are some already.
  void predict_by(const roofline::Hardware& predictions);
  /// The most bytes of arrays on `rank` while it loads weights from a checkpoint or runs.
  Bytes memory(Index rank) const;
  /// Bytes of the caches on `rank`.
  Bytes cache_bytes(Index rank) const;

 private:
  GenerationForm form_;
  Index chunk_;
  Index vocabulary_;
  GenerationPhase first_;
  std::optional<GenerationPhase> later_;
  GenerationPhase decode_;
  std::vector<std::int32_t> where_;
};

/// Positions by place, if S is split over axes of these sizes, major first: a position belongs to the coordinate
/// q mod p of the first axis, (q div p) mod p' of the next. Blocks have the sizes of the nested block rule.
std::vector<std::int32_t> striped_places(Index places, const std::vector<Index>& axis_sizes);

}  // namespace shardline
