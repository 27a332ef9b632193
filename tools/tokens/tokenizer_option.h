#pragma once

#include <string>

#include "models/data/text_rounds.h"
#include "models/tokens/text_encoder.h"
#include "runtime/mpi/communicator.h"

namespace shardline::tools {

/// Collective over `world`; rank 0 reads the file for all. Throws UsageError, one line with `path`, for a file that
/// cannot be read or is no tokenizer that is implemented (see Tokenizer).
TextEncoder read_tokenizer(const mpi::Communicator& world, const std::string& path);

/// Collective over `world`; rank 0 looks. The tokenizer in the folder of a model; empty if there is none.
std::string tokenizer_in(const mpi::Communicator& world, const std::string& folder);

/// The ranks of `world`, which must outlive the result, as encode_in_rounds() takes them.
TextRanks text_ranks(const mpi::Communicator& world);

/// Bytes of text that a rank encodes in a round: enough that meeting the others costs little.
Index block_of_round(Index bytes, int ranks);

}  // namespace shardline::tools
