#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/parity/layout.h"

namespace shardline {

/// One way to lay generation on ranks. No way may change a text or its logits beyond rounding.
struct GenerationLayout {
  AbstractMesh mesh;
  Strategy decode;
  std::optional<Strategy> prefill = {};  ///< none: as decode
  Index chunk = 0;                       ///< the most tokens of a prompt that are read at once; 0: all
  bool shared_memory = true;             ///< false: every collective goes by messages, as between nodes
  ParityTask task = ParityTask::usual;   ///< usual, tied, biases or dropless
};

/// "generate tp_rep=X,rep_b=Y prefill=tp_seq=X,dp=Y chunk=4 messages tied"
std::string to_string(const GenerationLayout& layout);

/// The models that generate.
const std::vector<ParityTask>& generation_tasks();

/// Each role of generation on each axis of each mesh that fits the ranks, for decode; in every second layout prefill
/// has other roles. The other choices take turns.
std::vector<GenerationLayout> generation_layouts(Index ranks);

/// Calls `visit` with those of generation_layouts(), then with every strategy for decode beside every one for prefill,
/// on every mesh: thousands. In the latter the other choices are the usual ones, or dropless if a role splits experts.
/// A few layouts come twice.
void for_each_generation_layout(Index ranks, const std::function<void(const GenerationLayout&)>& visit);

}  // namespace shardline
