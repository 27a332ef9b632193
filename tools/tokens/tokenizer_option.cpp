#include "tools/tokens/tokenizer_option.h"

#include <algorithm>
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

TextRanks text_ranks(const mpi::Communicator& world) {
  return {.rank = world.rank(),
          .size = world.size(),
          .gather =
              [&world](Index value) {
                std::vector<Index> all;  // positions are exact as double
                for (const double each : world.all_gather(static_cast<double>(value))) {
                  all.push_back(static_cast<Index>(each));
                }
                return all;
              },
          .on_all = [&world](const std::function<void()>& body) { mpi::on_all(world, body); }};
}

Index block_of_round(Index bytes, int ranks) {
  constexpr Index kMost = 4 << 20;
  return std::min(bytes / ranks + 1, kMost);
}

}  // namespace shardline::tools
