#include "tools/tokens/tokenizer_option.h"

#include <filesystem>

#include "runtime/base/check.h"
#include "runtime/host/files.h"

namespace shardline::tools {

TextEncoder read_tokenizer(const mpi::Communicator& world, const std::string& path) {
  const std::string json = mpi::on_root(world, 0, [&] { return read_description(path); });
  TextEncoder encoder;
  mpi::on_all(world, [&] { encoder = TextEncoder(json, path); });
  return encoder;
}

std::string tokenizer_in(const mpi::Communicator& world, const std::string& folder) {
  return mpi::on_root(world, 0, [&] {
    std::error_code failure;
    const std::string path = tokenizer_path(folder);
    // A link to nothing is refused when it is read.
    return std::filesystem::exists(std::filesystem::symlink_status(path, failure)) ? path : std::string();
  });
}

ModelTokens tokens_for(const Job& job, const std::string& path, const std::string& folder,
                       const Checkpoint& checkpoint) {
  ModelTokens tokens{.encoder = {}, .path = path.empty() ? tokenizer_in(job.world(), folder) : path};
  if (tokens.path.empty()) {
    require_reads_bytes(checkpoint, folder);
    return tokens;
  }
  const Index vocab = checkpoint.config.vocab;
  tokens.encoder = read_tokenizer(job.world(), tokens.path);
  require(tokens.encoder.vocabulary_size() <= vocab,
          "{}: the tokenizer has {} ids, but the model has a vocabulary of {} (vocab_size)", tokens.path,
          tokens.encoder.vocabulary_size(), vocab);
  note_other_tokenizer(job, tokens.encoder, tokens.path, folder);
  return tokens;
}

void note_other_tokenizer(const Job& job, const TextEncoder& tokenizer, const std::string& path,
                          const std::string& folder) {
  const std::string own = tokenizer_in(job.world(), folder);
  if (own.empty()) return;
  const std::string text = mpi::on_root(job.world(), 0, [&] { return read_file(own); });
  if (text != tokenizer.json()) job.note(fmt::format("{}: differs from {}, the tokenizer of the model", path, own));
}

}  // namespace shardline::tools
