#pragma once

#include <memory>
#include <string>

#include "models/data/token_file.h"
#include "runtime/host/block_file.h"
#include "runtime/host/files.h"
#include "runtime/mpi/communicator.h"
#include "tools/tokens/text_rounds.h"

namespace shardline::tools {

/// A token file that all ranks write, each its part of every round. It appears whole or not at all. All calls are
/// collective over `world`, and what one rank throws, all throw.
class TokenOutput {
 public:
  /// `width`: bytes of a token. Throws UsageError if the file cannot be created, or a rank does not see the folder.
  TokenOutput(const mpi::Communicator& world, const std::string& path, std::size_t width);

  /// Throws ResultError if the tokens cannot be written, for example on a full disk, or are more than a header counts.
  void write(const TextRound& round);
  /// Writes the header, and gives the file its name. Throws ResultError if this fails.
  void commit();

  Index tokens() const { return tokens_; }

 private:
  const mpi::Communicator& world_;
  std::size_t width_;
  std::unique_ptr<WholeFile> whole_;  ///< on rank 0
  std::unique_ptr<BlockFile> blocks_;
  Index tokens_ = 0;
};

}  // namespace shardline::tools
