#pragma once

#include <string>

#include "models/tokens/text_encoder.h"
#include "runtime/mpi/communicator.h"
#include "tools/job.h"

namespace shardline::tools {

/// Collective over `world`; rank 0 reads the file for all. Throws UsageError, one line with `path`, for a file that
/// cannot be read or is no tokenizer that is implemented (see Tokenizer).
TextEncoder read_tokenizer(const mpi::Communicator& world, const std::string& path);

/// Collective over `world`; rank 0 looks. The tokenizer in the folder of a model; empty if there is none.
std::string tokenizer_in(const mpi::Communicator& world, const std::string& folder);

/// Collective over all ranks; rank 0 compares: a note if the model in `folder` has another tokenizer than this one,
/// which was read from `path`.
void note_other_tokenizer(const Job& job, const TextEncoder& tokenizer, const std::string& path,
                          const std::string& folder);

}  // namespace shardline::tools
