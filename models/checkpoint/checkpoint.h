#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/architecture/config.h"
#include "models/architecture/transformer.h"
#include "models/checkpoint/weight_files.h"
#include "program/run/state.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// A model on disk: a folder with `config.json` and weights (see WeightFiles) under Hugging Face names, for
/// other tools too.
struct Checkpoint {
  TransformerConfig config;
  std::vector<std::string> remarks;    ///< see ReadConfig
  Index longest = 0;                   ///< see ReadConfig
  Index sequence = 0;                  ///< tokens per training sequence
  bool reads_bytes = false;            ///< it was trained on text as bytes
  std::shared_ptr<WeightFiles> files;  ///< open on every rank
};

/// Notes on the training of a model. The weight file stores them.
struct TrainingNotes {
  Index sequence = 0;          ///< tokens per sequence
  std::string machine_hash;    ///< of the machine file that decided; empty for built-in values
  bool reads_bytes = false;    ///< text was read as bytes
  std::string tokenizer = {};  ///< the text of its `tokenizer.json`; empty for none
};

/// Collective over `comm`: the mesh of `state`, or the ranks of all stages, each with a state of its own. Every rank
/// writes its part of the parameters of `model`, so all ranks must see the folder. Throws on every rank: UsageError if
/// the folder or a file in it cannot be created, ResultError if a file cannot be written. Each file appears whole or
/// not at all, the weights first. Before them the tokenizer of another model goes, so that a job that ends in between
/// leaves none beside weights of another model. Returns the digests of their tensors (see digests.h).
std::vector<std::uint64_t> save_checkpoint(const State& state, const std::string& folder,
                                           const TransformerConfig& config, const Model& model,
                                           const TrainingNotes& notes, const mpi::Communicator& comm);

/// The configuration in the folder of a model.
std::string config_path(const std::string& folder);

/// The tokenizer in the folder of a model, if it has one.
std::string tokenizer_path(const std::string& folder);

/// The files that save_checkpoint() writes.
std::vector<std::string> saved_files(const std::string& folder);

/// Collective over `comm`. Every rank opens the files and reads their headers. Throws UsageError on every rank if a
/// file is missing or malformed, a tensor is missing or does not have the shape of the configuration, or the
/// configuration does not use a tensor. Tables of rotary positions may exist. A tied model may have an output
/// projection equal to the embedding.
Checkpoint open_checkpoint(const mpi::Communicator& comm, const std::string& folder);

/// Throws UsageError if text may not be read as bytes for this model, of `folder`: it has fewer than 256 ids, or more
/// and nothing says that it was trained on bytes. Then its tokenizer is missing.
void require_reads_bytes(const Checkpoint& checkpoint, const std::string& folder);

/// Collective over `comm`, as save_checkpoint(): loads every parameter of `model` in the element type of the states.
/// Each rank reads its own blocks, part by part. Throws ResultError on every rank if a tensor holds NaN or
/// infinity, or a number too large for the element type. Returns the digests of their tensors, as they are then.
std::vector<std::uint64_t> load_parameters(const Checkpoint& checkpoint, State& state, const Model& model,
                                           const mpi::Communicator& comm);

}  // namespace shardline
