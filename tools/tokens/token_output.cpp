#include "tools/tokens/token_output.h"

#include <numeric>

#include "runtime/base/check.h"
#include "runtime/base/result_error.h"

namespace shardline::tools {

TokenOutput::TokenOutput(const mpi::Communicator& world, const std::string& path, std::size_t width)
    : world_(world), width_(width) {
  const std::string temporary = mpi::on_root(world_, 0, [&] {
    whole_ = std::make_unique<WholeFile>(path);
    return whole_->temporary();
  });
  mpi::on_all(world_, [&] { blocks_ = std::make_unique<BlockFile>(temporary, BlockFile::Use::write); });
}

void TokenOutput::write(const TextRound& round) {
  const auto mine = round.counts.begin() + world_.rank();
  const Index before = std::accumulate(round.counts.begin(), mine, tokens_);
  tokens_ = std::accumulate(mine, round.counts.end(), before);
  if (tokens_ > kMostTokensOfFile) {
    throw ResultError(fmt::format("{}: more than {} tokens, which is all that the header of a token file counts",
                                  blocks_->path(), kMostTokensOfFile));
  }
  mpi::on_all(world_, [&] {
    const std::string bytes = packed_tokens(round.part.ids, width_);
    const Index place = static_cast<Index>(kTokenHeaderBytes) + before * static_cast<Index>(width_);
    blocks_->write_at(place, bytes.data(), bytes.size());
    blocks_->start_writing(place, static_cast<Index>(bytes.size()));
  });
}

void TokenOutput::commit() {
  mpi::on_all(world_, [&] { blocks_->sync(); });
  mpi::on_root(world_, 0, [&] {
    const std::string header = token_header(tokens_, width_);
    blocks_->write_at(0, header.data(), header.size());
    whole_->commit();
    return std::string();
  });
}

}  // namespace shardline::tools
