#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/data/text_series.h"
#include "models/data/token_file.h"
#include "models/tokens/text_encoder.h"
#include "runtime/base/units.h"
#include "runtime/mpi/communicator.h"

namespace shardline::tools {

/// The tokens of texts, in the memory of every rank.
struct EncodedTexts {
  std::map<std::string, std::shared_ptr<const TokenFile>> tokens;  ///< by the path of the text
  Index bytes = 0;                                                 ///< of all texts
  Index count = 0;                                                 ///< of all tokens
  std::size_t width = 0;                                           ///< bytes of a token
};

/// Collective over `world`: encodes files, each rank a part, and gives the tokens to all. Throws UsageError on every
/// rank if a file cannot be mapped, is empty, or is not the same on all ranks. `encoder` is a tokenizer.
EncodedTexts encode_texts(const mpi::Communicator& world, const std::vector<std::string>& files, TextEncoder& encoder);

/// The most memory that encode_texts() needs on a rank, for files of so many bytes: the tokens of all, those of a
/// round, and what it takes to encode a part. It takes a byte for a token, as nearly all texts have fewer tokens. Only
/// broken UTF-8, characters that the normalizer makes longer, and added spaces give more. One word of
/// many MiB needs more than a part with as many bytes.
Bytes encoding_memory(const std::vector<Index>& files, int ranks, const TextEncoder& encoder);

/// Collective over `world`: maps texts. Throws UsageError on every rank, with the rank if it is not rank 0, if one
/// cannot be mapped, or the ranks see different sizes.
std::unique_ptr<TextSeries> open_series(const mpi::Communicator& world, const TextSeriesOptions& options,
                                        TextEncoder& encoder);

}  // namespace shardline::tools
