#include "models/checkpoint/weight_files.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/architecture/strict_json.h"
#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/host/files.h"
#include "runtime/layout/finite.h"

namespace shardline {
namespace {

constexpr const char* kFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kMap = "weight_map";
constexpr int kDeepestIndex = 4;
constexpr const char* kEmbedding = "model.embed_tokens.weight";
constexpr const char* kOutput = "lm_head.weight";

std::string in_folder(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

/// A broken link counts as present. Reading it then reports the fault.
bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

/// True for the name of a file in the index's own folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

/// The index: for each array the file that holds it.
std::map<std::string, std::string> read_weight_map(const std::string& path) {
  const nlohmann::json index = parse_object(read_description(path), path, "the index", kDeepestIndex);
  require(index.contains(kMap) && index.at(kMap).is_object() && !index.at(kMap).empty(),
          "{}: {} must be an object: files by the tensors that they hold", path, kMap);
  std::map<std::string, std::string> weight_map;
  for (const auto& [tensor, file] : index.at(kMap).items()) {
    require(file.is_string() && is_plain_name(file.get<std::string>()),
            "{}: tensor {}: {} is not the name of a file beside the index", path, tensor, shown(file));
    weight_map[tensor] = file.get<std::string>();
  }
  return weight_map;
}

/// "a, b, c and 9 more"
std::string first_of(const std::vector<std::string>& all) {
  constexpr std::size_t kShown = 3;
  const std::size_t shown = std::min(kShown, all.size());
  const std::string text = fmt::format("{}", fmt::join(all.begin(), all.begin() + static_cast<int>(shown), ", "));
  return all.size() > shown ? fmt::format("{} and {} more", text, all.size() - shown) : text;
}

/// Tables of cosines in some files. They follow from the configuration.
bool is_rotary_table(const std::string& name) {
  return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".rotary_emb.cos_cached") ||
         name.ends_with(".rotary_emb.sin_cached");
}

bool same_bytes(const WeightFiles& files, const std::string& a, const std::string& b) {
  if (!files.contains(a) || !files.contains(b)) return false;
  const Tensor first = files.file_of(a).read(a);
  const Tensor second = files.file_of(b).read(b);
  return first.dtype() == second.dtype() && first.shape() == second.shape() &&
         std::memcmp(first.data(), second.data(), static_cast<std::size_t>(first.bytes())) == 0;
}

/// The number after `text` in a name; -1 if there is none.
Index number_after(const std::string& name, std::string_view text) {
  const std::size_t at = name.find(text);
  Index number = -1;
  if (at != std::string::npos) std::from_chars(name.data() + at + text.size(), name.data() + name.size(), number);
  return number;
}

/// A tensor that the configuration does not use, with a reason if one is known.
std::string unused(const std::string& name, const TransformerConfig& config) {
  if (name == kOutput && config.tied) return name + " (tie_word_embeddings is true, and it is not the embedding)";
  if (number_after(name, "model.layers.") >= config.layers)
    return fmt::format("{} (num_hidden_layers is {})", name, config.layers);
  const bool of_experts = name.find(".block_sparse_moe.") != std::string::npos;
  if (of_experts && config.experts.count == 0) {
    return name + " (the model_type has no experts; those of mixtral are implemented)";
  }
  if (of_experts && number_after(name, ".experts.") >= config.experts.count) {
    return fmt::format("{} (num_local_experts is {})", name, config.experts.count);
  }
  if (!name.ends_with(".bias")) return name;
  return name + (config.qkv_biases ? " (only q_proj, k_proj and v_proj have biases)"
                                   : " (the model_type has no biases; those of qwen2 are implemented)");
}

}  // namespace

WeightFiles::WeightFiles(const std::string& folder) : path_(in_folder(folder, kFile)) {
  if (is_there(path_)) {
    files_.push_back(std::make_unique<SafetensorsFile>(path_));
    for (const std::string& name : files_[0]->names()) file_of_[name] = files_[0].get();
    return;
  }
  const std::string index = in_folder(folder, kIndex);
  require(is_there(index), "{}: no such file, nor is there a {}", path_, kIndex);
  path_ = index;
  open_listed(folder, read_weight_map(path_));
}

void WeightFiles::open_listed(const std::string& folder, const std::map<std::string, std::string>& weight_map) {
  std::map<std::string, SafetensorsFile*> opened;
  for (const auto& [tensor, name] : weight_map) {
    if (opened.count(name) > 0) continue;
    const std::string path = in_folder(folder, name);
    if (!is_there(path)) usage_error("{}: tensor {} is in {}, which is not there", path_, tensor, name);
    files_.push_back(std::make_unique<SafetensorsFile>(path));
    opened[name] = files_.back().get();
  }
  for (const auto& [name, file] : opened) {
    for (const std::string& tensor : file->names()) {
      const auto listed = weight_map.find(tensor);
      require(listed != weight_map.end(), "{}: tensor {}: the index does not list it", file->path(), tensor);
      require(listed->second == name, "{}: tensor {}: the index says that it is in {}", file->path(), tensor,
              listed->second);
    }
  }
  for (const auto& [tensor, name] : weight_map) {
    SafetensorsFile* file = opened.at(name);
    require(file->contains(tensor), "{}: tensor {} is in {}, which does not hold it", path_, tensor, name);
    file_of_[tensor] = file;
  }
}

std::vector<std::string> WeightFiles::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : file_of_) names.push_back(name);
  return names;
}

SafetensorsFile& WeightFiles::file_of(const std::string& name) const { return *file_of_.at(name); }

std::string WeightFiles::metadata(const std::string& key) const {
  for (const auto& file : files_) {
    const auto found = file->metadata().find(key);
    if (found != file->metadata().end()) return found->second;
  }
  return "";
}

void WeightFiles::require_tensors_of(const TransformerConfig& config, const std::vector<FileArray>& parameters) const {
  const std::vector<std::string> names = tensor_names(parameters);
  require_names(config, {names.begin(), names.end()});
  for (const FileArray& array : parameters) {
    for (const std::string& tensor : tensor_names({array})) require_weight(tensor, array.in_file);
  }
}

void WeightFiles::require_names(const TransformerConfig& config, const std::set<std::string>& wanted) const {
  std::vector<std::string> faults;
  std::vector<std::string> missing;
  for (const std::string& name : wanted) {
    if (!contains(name)) missing.push_back(name);
  }
  if (!missing.empty()) faults.push_back(fmt::format("{} missing: {}", missing.size(), first_of(missing)));
  std::vector<std::string> left;
  for (const std::string& name : names()) {
    if (wanted.count(name) > 0 || is_rotary_table(name)) continue;
    if (name == kOutput && config.tied && same_bytes(*this, name, kEmbedding)) continue;
    left.push_back(unused(name, config));
  }
  if (!left.empty()) faults.push_back(fmt::format("{} not used: {}", left.size(), first_of(left)));
  require(faults.empty(), "{}: not the tensors of the configuration: {}", path_, fmt::join(faults, "; "));
}

void WeightFiles::require_weight(const std::string& name, const Shape& shape) const {
  const SafetensorsFile& file = file_of(name);
  require(file.info(name).shape == shape, "{}: tensor {} has shape {}, the configuration says {}", file.path(), name,
          to_string(file.info(name).shape), to_string(shape));
  require(!is_integer(file.dtype(name)), "{}: tensor {} holds integers, weights are F32, F64, BF16 or F16", file.path(),
          name);
}

Tensor WeightFiles::read_block(const std::string& name, const Shape& shape, const std::vector<Range>& ranges) const {
  SafetensorsFile& file = file_of(name);
  Tensor block = file.read_block(name, shape, ranges);
  const std::string_view wrong = non_finite(block);
  if (!wrong.empty()) throw ResultError(fmt::format("{}: tensor {} holds {}", file.path(), name, wrong));
  return block;
}

}  // namespace shardline
