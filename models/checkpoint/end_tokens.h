#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokens/text_encoder.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// The ids in `eos_token_id` of a `config.json` or `generation_config.json`: a number or a list; none if the key is
/// missing or null. Throws UsageError, one line with `path` and the key, for any other value, for ids below 0, and for
/// text that is not one JSON object.
std::vector<std::int32_t> parse_end_tokens(std::string_view text, const std::string& path);

/// Collective over `comm`; rank 0 reads the files. The ids that end a text of the model in `folder`, each once and in
/// this order: those of `config.json`, those of `generation_config.json`, if there is one, and
/// TextEncoder::end_tokens(). An id beyond the vocabulary of the model is legal, and never comes. Throws UsageError on
/// every rank as parse_end_tokens(), and if a file cannot be read.
std::vector<std::int32_t> end_tokens_of(const mpi::Communicator& comm, const std::string& folder,
                                        const TextEncoder& encoder);

}  // namespace shardline
