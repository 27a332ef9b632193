#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/architecture/config.h"
#include "models/architecture/transformer.h"
#include "models/checkpoint/weight_files.h"
#include "program/run/state.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// A model on disk: a folder with `config.json` and weights (see WeightFiles) under Hugging Face LLaMA names, so that
/// other tools can read it.
struct Checkpoint {
  TransformerConfig config;
  std::vector<std::string> remarks;    ///< see ReadConfig
  Index sequence = 0;                  ///< tokens per sequence it was trained on
  std::shared_ptr<WeightFiles> files;  ///< open on rank 0, null on the others
};

/// How a model was trained, as the file of its weights notes it beside them.
struct TrainingNotes {
  Index sequence = 0;        ///< tokens per sequence
  std::string machine_hash;  ///< of the machine file whose figures decided; empty for built-in values
};

/// Collective over the mesh of `state`; rank 0 writes the parameters of `model` that the state holds. Throws on every
/// rank: UsageError when the folder cannot be made or no file in it, ResultError when a file cannot be written. Each
/// file appears whole or not at all, the weights first.
void save_checkpoint(const State& state, const std::string& folder, const TransformerConfig& config,
                     const Transformer& model, const TrainingNotes& notes);

/// The files that save_checkpoint() writes.
std::vector<std::string> saved_files(const std::string& folder);

/// Collective over `comm`; rank 0 opens the files and reads what they say of themselves. Throws UsageError on every
/// rank when a file is missing or malformed, when a tensor is missing or has another shape than the configuration
/// says, and when there are tensors that the configuration does not use; tables of rotary positions, and an output
/// projection equal to the embedding that a tied model uses for it, may be there.
Checkpoint open_checkpoint(const mpi::Communicator& comm, const std::string& folder);

/// Collective over the mesh of `state`, of which rank 0 must be that of the checkpoint: gives every parameter of the
/// model its elements, in the dims and the element type of the state. Rank 0 reads block by block; no rank holds a
/// whole array unless its block is one. Throws ResultError on every rank when a tensor holds NaN or infinity, or a
/// number too large for the element type.
void load_parameters(const Checkpoint& checkpoint, State& state);

/// Copies of a block that a rank holds at most while it loads one, the state's not counted.
inline constexpr double kLoadingBlocks = 5;

}  // namespace shardline
