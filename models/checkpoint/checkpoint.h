#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/architecture/config.h"
#include "models/architecture/transformer.h"
#include "runtime/base/units.h"
#include "runtime/layout/tensor.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// A model on disk: a folder with `config.json` and weights (see WeightFiles) under Hugging Face LLaMA names, so that
/// other tools can read it.
struct Checkpoint {
  TransformerConfig config;
  std::vector<std::string> remarks;       ///< see ReadConfig
  Index sequence = 0;                     ///< tokens per sequence it was trained on
  std::map<std::string, Tensor> tensors;  ///< by checkpoint name, as stored
};

/// How a model was trained, as the file of its weights notes it beside them.
struct TrainingNotes {
  Index sequence = 0;        ///< tokens per sequence
  std::string machine_hash;  ///< of the machine file whose figures decided; empty for built-in values
};

/// Collective over `comm`; rank 0 writes. `parameter(i)` gives the whole of parameter i on every rank; it is called on
/// every rank, in order. Throws on every rank: UsageError when the folder cannot be made or no file in it, ResultError
/// when a file cannot be written. Each file appears whole or not at all, the weights first.
void save_checkpoint(const mpi::Communicator& comm, const std::string& folder, const TransformerConfig& config,
                     const Transformer& model, const std::function<Tensor(std::size_t)>& parameter,
                     const TrainingNotes& notes);

/// The files that save_checkpoint() writes.
std::vector<std::string> saved_files(const std::string& folder);

/// Collective over `comm`; rank 0 looks. Bytes of the files of weights in the folder, which load_checkpoint() holds on
/// every rank, and on the way, tensor by tensor, several times. 0 where there is no folder.
Bytes checkpoint_bytes(const mpi::Communicator& comm, const std::string& folder);

/// Collective over `comm`; rank 0 reads. Throws UsageError on every rank when a file is missing or malformed, when a
/// tensor is missing or has another shape than the configuration says, and when there are tensors that the
/// configuration does not use; tables of rotary positions, and an output projection equal to the embedding that a tied
/// model uses for it, may be there. Throws ResultError when a tensor holds NaN or infinity.
Checkpoint load_checkpoint(const mpi::Communicator& comm, const std::string& folder);

/// A parameter in the dims of the program and elements of `dtype`, from its stored form. Throws ResultError when an
/// element is too large for `dtype`.
Tensor from_checkpoint(const Checkpoint& checkpoint, const ModelParameter& parameter, const Array& array, DType dtype);

}  // namespace shardline
