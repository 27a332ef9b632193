#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/architecture/config.h"
#include "roofline/price/bounds.h"

namespace shardline {

/// The question to the closed forms of book section 5.1.
struct ClosedFormQuery {
  TransformerConfig config;
  double tokens = 0;   ///< of a batch, over all pods
  Index sequence = 0;  ///< tokens of a sequence; 0: every token may be split from every other
  Index chips = 1;     ///< of a pod
  /// The link with bf16 elements, as in the closed forms. Other element types have a slower link in proportion.
  roofline::ChipRates rates;
  double torus_axes = 3;    ///< of the machine; FSDP, data and tensor parallelism alone use all of them
  double x_torus_axes = 2;  ///< of a mixed mesh, for FSDP
  double y_torus_axes = 1;  ///< of a mixed mesh, for tensor parallelism
  bool rings = true;        ///< the links make rings; false: a switch joins the chips
  BytesPerSecond memory;    ///< of a chip's memory; 0: not known
  Bytes capacity;           ///< of a chip's memory
  Bytes element{2};         ///< of a weight or an activation
  Bytes moments{8};         ///< of the optimizer, for a weight

  Index pods = 1;
  BytesPerSecond between_pods = {};  ///< leaving one host; 0: not known
  Index chips_per_host = 1;

  Index stages = 1;  ///< of the pipeline
  Index micro_batches = 1;

  /// The chips of a mesh of powers of two.
  Index mesh_chips() const { return roofline::power_of_two_below(chips); }
  double tokens_of_pod() const { return tokens / static_cast<double>(pods); }
  /// Tokens over all chips, not only those of the mesh.
  double tokens_per_chip() const { return tokens_of_pod() / static_cast<double>(chips); }
  /// An average layer of the model with the tokens of a pod.
  roofline::TwoProducts layer() const;
  /// The chips of X that have sequences of their own: all `x`, or with fewer sequences the largest power of two of
  /// them. The others split sequences (book section 5.1.1, context parallelism).
  Index data_ways(double x) const;
};

/// What one pass over a layer moves for context parallelism, onto a chip of a mesh of X and Y chips: the keys and
/// values of all sequences that it has tokens of (book section 5.1.1, with the arrays of section 4.2). Y splits heads.
/// 0 if no sequence is split.
Bytes context_bytes(const ClosedFormQuery& query, double x, double y);

/// The time for it over one torus axis, in all layers. The forward pass gathers keys and values, the backward pass
/// scatters their gradients; with both_regathering it also gathers again.
Seconds context_time(const ClosedFormQuery& query, double x, double y, roofline::CountedPasses passes);

/// The best mesh of FSDP and tensor parallelism for these passes. Times are of all layers.
struct MixedAnswer {
  roofline::CountedPasses passes = roofline::CountedPasses::forward;
  double optimal_x = 0;  ///< a real number
  roofline::MixedMesh mesh = {};
  roofline::LayerTime time = {};
  Seconds context = {};  ///< for keys and values, where X also splits sequences; not in `time`
  double least_tokens_per_chip = 0;
  std::optional<std::pair<double, double>> compute_bound_x = {};
};

/// The power of two X with the least communication.
MixedAnswer mixed_answer(const ClosedFormQuery& query, roofline::CountedPasses passes);

/// One strategy with forward and backward pass. Times are of all layers.
struct StrategyAnswer {
  std::string name = {};  ///< of its roles: "fsdp+tp"; with cp or cp_fsdp where there are too few sequences for X
  std::string mesh = {};  ///< "X=2048,Y=4"; "X=1024,C=2,Y=4"
  Seconds math = {};
  Seconds comms = {};
  Seconds idle = {};       ///< while a pipeline fills and drains
  std::string bound = {};  ///< the limit in words
  Bytes state = {};        ///< weights and optimizer on a chip, without gradients as in the book
  /// The name of the rematerialisation that repeats least and fits; empty if none does, "unknown" if the memory is
  /// not known.
  std::string keeps = {};
};

/// The answers for data parallelism, FSDP, tensor parallelism, FSDP with tensor parallelism, FSDP with experts split
/// over chips, a pipeline, and data parallelism between several pods. The limit follows from the times on the chips of
/// the mesh. Gradients of data parallelism move only beside the backward pass. Between pods the limit follows from the
/// tokens of each pod.
std::vector<StrategyAnswer> strategy_answers(const ClosedFormQuery& query);

/// Bytes of the weights on a chip where every weight is split over `tensor_ways` chips, and experts over `expert_ways`
/// times as many: W_in[E_Z, D, F_Y] (book exercise 7.6).
Bytes weights_of_chip(const TransformerConfig& config, Bytes element, double tensor_ways, double expert_ways);

/// Experts split over an axis Z: what moves, and what a chip holds.
struct ExpertSharding {
  roofline::ExpertMesh mesh;  ///< of the least communication with both passes, as strategy_answers() lists it
  Bytes sent;           ///< of one AllToAll of a layer, over all Z: each token once for each expert that it is sent to
  Seconds all_to_all;   ///< over Z
  Seconds all_gather;   ///< of the same bytes
  double all_ways = 1;  ///< the most chips of Z: each has experts of every layer
  Bytes weights;        ///< in int8 on a chip with experts over `all_ways` and all other weights
};

/// What experts change (book sections 4.4.1, 4.8 and 7.6).
struct ExpertsAnswer {
  /// Tokens at a time from which products are compute-bound: with weights as stored, and in int8; 0 if the bandwidth of
  /// memory is not known.
  double least_batch = 0;
  double least_batch_int8 = 0;
  std::optional<ExpertSharding> sharding = {};  ///< none for one chip
};

/// None if the model has no experts.
std::optional<ExpertsAnswer> experts_answer(const ClosedFormQuery& query);

/// A step with stages, to the closed form. Each stage has mesh_chips() / stages chips.
struct StagedForm {
  Index stages = 1;
  Index micro_batches = 1;
  roofline::MixedMesh mesh = {};  ///< of a stage
  bool gathers = false;           ///< FSDP: weights are gathered for every micro-batch
  bool scatters = false;          ///< gradients are scattered for every micro-batch
};

/// The time of a step with stages, roughly, by the times of book section 5.1.4: two products a layer. FSDP's gathers
/// run beside what a task computes, those of tensor parallelism do not; micro_batches + stages - 1 tasks follow each
/// other. Without FSDP new weights are gathered once, and gradients reduced once unless every micro-batch scatters them
/// (section 5.1.1). It says which pipelines are worth a price.
Seconds staged_time(const ClosedFormQuery& query, const StagedForm& form);

}  // namespace shardline
