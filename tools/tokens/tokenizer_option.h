#pragma once

#include <string>

#include "models/checkpoint/checkpoint.h"
#include "models/tokens/text_encoder.h"
#include "runtime/mpi/communicator.h"
#include "tools/job.h"

namespace shardline::tools {

/// Collective over `world`; rank 0 reads the file for all. Throws UsageError, one line with `path`, for a file that
/// cannot be read or is no tokenizer that is implemented (see Tokenizer).
TextEncoder read_tokenizer(const mpi::Communicator& world, const std::string& path);

/// Collective over `world`; rank 0 looks. The tokenizer in the folder of a model; empty if there is none.
std::string tokenizer_in(const mpi::Communicator& world, const std::string& folder);

/// What makes tokens for a model.
struct ModelTokens {
  TextEncoder encoder;
  std::string path;  ///< of the tokenizer; empty if bytes are tokens
};

/// Collective over all ranks: the tokenizer at `path`, or if that is empty the one in `folder`, where `checkpoint`
/// lies, or bytes. Notes if the model there has another tokenizer. Throws UsageError, one line, if the model has too
/// few ids, and as read_tokenizer() and require_reads_bytes().
ModelTokens tokens_for(const Job& job, const std::string& path, const std::string& folder,
                       const Checkpoint& checkpoint);

/// Collective over all ranks; rank 0 compares: a note if the model in `folder` has another tokenizer than this one,
/// which was read from `path`.
void note_other_tokenizer(const Job& job, const TextEncoder& tokenizer, const std::string& path,
                          const std::string& folder);

}  // namespace shardline::tools
