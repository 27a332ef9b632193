#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/architecture/transformer.h"
#include "models/data/token_order.h"
#include "models/strategy/strategies.h"
#include "models/training/pipeline_plan.h"
#include "program/plan/schedule.h"
#include "runtime/layout/abstract_mesh.h"

namespace shardline {

/// What is trained. Each task has a result of its own.
enum class ParityTask : std::uint8_t {
  usual,
  tied,      ///< the output projection is the embedding
  biases,    ///< queries, keys and values have biases
  masked,    ///< only some labels count in the loss
  packed,    ///< a sample holds several documents
  experts,   ///< each token passes 2 of 5 experts; choices without room are dropped, and uneven routing is a loss
  dropless,  ///< each token passes 2 of 3 experts, and none is dropped
};

/// One way to lay a training step on ranks and to run it. No way may change the result beyond rounding.
struct ParityLayout {
  AbstractMesh mesh;
  Strategy strategy;
  Policy policy = {};
  ScheduleOptions schedule = {};
  bool by_price = false;                       ///< prices assign every operation, not the strategy's table
  bool shared_memory = true;                   ///< false: every collective goes by messages, as between nodes
  StepForm form = {};                          ///< micro-batches, rematerialisation
  PipelineOptions pipeline = {};               ///< if the strategy makes stages
  std::optional<TokenOrder> token_order = {};  ///< none: zigzag, if ranks share the sequences
  ParityTask task = ParityTask::usual;
  std::vector<std::string> choices = {};  ///< the choices that are not the usual ones: "fuse=always", "tied"
};

/// The layout without stages and without rematerialisation: these change no bit. Empty if it has neither.
std::optional<ParityLayout> plain_layout(const ParityLayout& layout);

/// "fsdp=X,tp=Y fuse=always tied"
std::string to_string(const ParityLayout& layout);

/// All meshes of up to three axes and at most `ranks` ranks. Each axis has more than one rank, except in the first
/// mesh, X=1. Every order of the factors is a mesh.
std::vector<AbstractMesh> parity_meshes(Index ranks);

/// Layouts in which every two choices meet in at least one layout, if they can: each mesh with each role on each of its
/// axes, each two roles, each role with each fusion, and so on. The first has no choice but the usual ones.
std::vector<ParityLayout> paired_layouts(Index ranks);

/// Calls `visit` with every combination of all choices: millions, even on one rank.
void for_each_layout(Index ranks, const std::function<void(const ParityLayout&)>& visit);

}  // namespace shardline
