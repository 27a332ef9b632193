#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/architecture/config.h"
#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/file_arrays.h"
#include "models/checkpoint/training_position.h"

namespace shardline {

/// What of a run must be the same when it goes on, besides the model: names and values as text.
using RunSettings = std::map<std::string, std::string>;

/// What a checkpoint of a run says, besides its arrays.
struct TrainingCheckpoint {
  TransformerConfig config;
  TrainingPosition position;
  RunSettings settings;
  TrainingNotes notes;
};

/// Where checkpoints of a run go.
struct CheckpointFolder {
  std::string path;
  Index keep = 0;  ///< so many newest ones stay; 0: all
};

/// Collective over `comm`: the mesh of `state`, or the ranks of all stages, each with a state of its own. Saves
/// parameters and moments of `model`, with a digest for each, in the folder `step-N` (see step_folders.h): weights and
/// configuration as save_checkpoint(), `optimizer.safetensors`, and `manifest.json`. Then removes old checkpoints.
/// All ranks write and must see the folder. Throws on every rank: UsageError if a file or folder cannot be created,
/// ResultError if something cannot be written; older checkpoints stay.
void save_step(const State& state, const CheckpointFolder& folder, const TrainingCheckpoint& what, const Model& model,
               const mpi::Communicator& comm);

/// A checkpoint of a run, opened.
struct OpenedStep {
  std::string folder;  ///< of the step
  TrainingCheckpoint what;
  Checkpoint weights;
  std::shared_ptr<SafetensorsFile> moments;
  std::map<std::string, std::uint64_t> digests;  ///< by the name of the tensor in its file
};

/// Collective over `comm`. Every rank opens the checkpoint: `folder` is that of a step, or has a `latest`. Throws
/// UsageError on every rank if there is none, or a file is missing or malformed.
OpenedStep open_step(const mpi::Communicator& comm, const std::string& folder);

/// Collective over `comm`, as save_step(): loads parameters and moments of `model` on any mesh. Throws UsageError on
/// every rank if the checkpoint lacks a tensor of the model, or holds others, or has one of another shape or
/// element type; ResultError, with the name of the tensor, if its elements are not those that were saved.
void load_step(const OpenedStep& step, State& state, const Model& model, const mpi::Communicator& comm);

}  // namespace shardline
