#include "tools/tokens/tokenizer_option.h"

#include <filesystem>

#include "models/checkpoint/checkpoint.h"
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
    return std::filesystem::exists(path, failure) ? path : std::string();
  });
}

void note_other_tokenizer(const Job& job, const TextEncoder& tokenizer, const std::string& path,
                          const std::string& folder) {
  const std::string own = tokenizer_in(job.world(), folder);
  if (own.empty()) return;
  const std::string text = mpi::on_root(job.world(), 0, [&] { return read_file(own); });
  if (text != tokenizer.json()) job.note(fmt::format("{}: differs from {}, the tokenizer of the model", path, own));
}

}  // namespace shardline::tools
