#pragma once

#include <functional>
#include <map>
#include <string>

#include "models/config.h"
#include "models/transformer.h"
#include "runtime/mpi/communicator.h"
#include "runtime/tensor.h"

namespace shardline {

/// A model on disk: a folder with `config.json` and `model.safetensors` under Hugging Face LLaMA names, so that other
/// tools can read it.
struct Checkpoint {
  TransformerConfig config;
  Index sequence = 0;                     ///< tokens per sequence it was trained on
  std::map<std::string, Tensor> tensors;  ///< by checkpoint name, as stored
};

/// How a model was trained, as the file of its weights notes it beside them.
struct TrainingNotes {
  Index sequence = 0;        ///< tokens per sequence
  std::string machine_hash;  ///< of the machine file whose figures decided; empty for built-in values
};

/// Collective over `comm`; rank 0 writes. `parameter(i)` gives the whole of parameter i on every rank; it is called on
/// every rank, in order. Throws on every rank: UsageError when the folder cannot be made or no file in it, Error when a
/// file cannot be written. Each file appears whole or not at all, the weights first.
void save_checkpoint(const mpi::Communicator& comm, const std::string& folder, const TransformerConfig& config,
                     const Transformer& model, const std::function<Tensor(std::size_t)>& parameter,
                     const TrainingNotes& notes);

/// The files that save_checkpoint() writes.
std::vector<std::string> saved_files(const std::string& folder);

/// Collective over `comm`; rank 0 reads. Throws UsageError on every rank when a file is missing or malformed, or a
/// tensor is missing or has another shape than the configuration says.
Checkpoint load_checkpoint(const mpi::Communicator& comm, const std::string& folder);

/// A parameter in the dims of the program, from its stored form.
Tensor from_checkpoint(const Checkpoint& checkpoint, const ModelParameter& parameter, const Array& array);

}  // namespace shardline
