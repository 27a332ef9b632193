#include "models/checkpoint/end_tokens.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "models/architecture/strict_json.h"
#include "models/checkpoint/checkpoint.h"
#include "runtime/base/check.h"
#include "runtime/host/files.h"

namespace shardline {
namespace {

constexpr const char* kEndKey = "eos_token_id";

}  // namespace

std::vector<std::int32_t> parse_end_tokens(std::string_view text, const std::string& path) {
  constexpr int kDeepest = 16;
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  const nlohmann::json object = parse_object(text, path, "the configuration", kDeepest);
  if (!object.contains(kEndKey) || object.at(kEndKey).is_null()) return {};
  const nlohmann::json& value = object.at(kEndKey);
  const nlohmann::json list = value.is_array() ? value : nlohmann::json::array({value});
  std::vector<std::int32_t> ids;
  for (const nlohmann::json& id : list) {
    require(id.is_number_integer() && id >= 0 && id <= kMost,
            "{}: {} is {}; it must be an id, a whole number from 0 to {}, or a list of ids", path, kEndKey,
            shown(value), kMost);
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

std::vector<std::int32_t> end_tokens_of(const mpi::Communicator& comm, const std::string& folder,
                                        const TextEncoder& encoder) {
  std::vector<std::int32_t> ids;
  const auto add = [&](const std::vector<std::int32_t>& more) {
    for (const std::int32_t id : more) {
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
  };
  const auto add_those_of = [&](const std::string& path, const std::string& text) {
    add(parse_end_tokens(text, path));
  };
  const std::string config = config_path(folder);
  add_those_of(config, mpi::on_root(comm, 0, [&] { return read_description(config); }));
  const std::string generation = folder + "/generation_config.json";
  add_those_of(generation, mpi::on_root(comm, 0, [&]() -> std::string {
                 std::error_code failure;  // read_description() names it, and a link to nothing
                 const std::filesystem::file_status status = std::filesystem::symlink_status(generation, failure);
                 return status.type() == std::filesystem::file_type::not_found ? "{}" : read_description(generation);
               }));
  add(encoder.end_tokens());
  return ids;
}

}  // namespace shardline
