#include "models/checkpoint/checkpoint.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "models/checkpoint/tensor_files.h"
#include "runtime/base/check.h"
#include "runtime/base/number.h"
#include "runtime/base/result_error.h"
#include "runtime/host/files.h"

namespace shardline {
namespace {

constexpr const char* kSequenceKey = "shardline_sequence";
constexpr const char* kMachineKey = "shardline_machine";
constexpr const char* kTextKey = "shardline_text";
constexpr const char* kReadsBytes = "bytes";

std::string weights_path(const std::string& folder) { return folder + "/model.safetensors"; }

/// Removes the tokenizer of another model, so that none stands beside weights that it does not fit. That with the text
/// `json` stays.
void remove_other_tokenizer(const std::string& folder, const std::string& json) {
  const std::string path = tokenizer_path(folder);
  std::error_code failure;
  if (!std::filesystem::exists(path, failure) || (!json.empty() && read_file(path) == json)) return;
  std::filesystem::remove(path, failure);
  if (failure) throw ResultError(fmt::format("{}: cannot be removed: {}", path, failure.message()));
}

/// Tokens per sequence, from the metadata of the weights; 0 if there is no note.
Index parse_sequence(const WeightFiles& files) {
  const std::string text = files.metadata(kSequenceKey);
  if (text.empty()) return 0;
  const std::optional<Index> sequence = whole_number<Index>(text);
  require(sequence && *sequence >= 1, "{}: {} is \"{}\"; it must be a whole number of at least 1", files.path(),
          kSequenceKey, text);
  return *sequence;
}

}  // namespace

std::vector<std::uint64_t> save_checkpoint(const State& state, const std::string& folder,
                                           const TransformerConfig& config, const Model& model,
                                           const TrainingNotes& notes, const mpi::Communicator& comm) {
  mpi::on_root(comm, 0, [&] {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    require(std::filesystem::is_directory(folder), "{}: cannot make the folder: {}", folder, failure.message());
    remove_other_tokenizer(folder, notes.tokenizer);
    return std::string();
  });
  std::map<std::string, std::string> metadata{{"format", "pt"}, {kSequenceKey, std::to_string(notes.sequence)}};
  if (!notes.machine_hash.empty()) metadata[kMachineKey] = notes.machine_hash;
  if (notes.reads_bytes) metadata[kTextKey] = kReadsBytes;
  std::vector<std::uint64_t> digests = write_arrays(state, parameters_of(model), weights_path(folder), metadata, comm);
  mpi::on_root(comm, 0, [&] {
    write_whole_file(config_path(folder), to_json(config));
    if (!notes.tokenizer.empty()) write_whole_file(tokenizer_path(folder), notes.tokenizer);
    return std::string();
  });
  return digests;
}

std::string config_path(const std::string& folder) { return folder + "/config.json"; }

std::string tokenizer_path(const std::string& folder) { return folder + "/tokenizer.json"; }

std::vector<std::string> saved_files(const std::string& folder) {
  return {weights_path(folder), config_path(folder), tokenizer_path(folder)};
}

void require_reads_bytes(const Checkpoint& checkpoint, const std::string& folder) {
  constexpr Index kBytes = 256;
  const Index vocab = checkpoint.config.vocab;
  require(vocab >= kBytes, "{}: vocab_size {}: text is bytes without a tokenizer, so at least {}", folder, vocab,
          kBytes);
  require(vocab == kBytes || checkpoint.reads_bytes,
          "{}: a model of {} tokens without tokenizer.json; --tokenizer FILE names the one that it was trained with",
          folder, vocab);
}

Checkpoint open_checkpoint(const mpi::Communicator& comm, const std::string& folder) {
  Checkpoint checkpoint;
  ReadConfig read =
      parse_config(mpi::on_root(comm, 0, [&] { return read_description(config_path(folder)); }), config_path(folder));
  checkpoint.config = read.config;
  checkpoint.remarks = std::move(read.remarks);
  checkpoint.longest = read.longest;
  const Model model = make_inference(checkpoint.config, {1, 1});
  mpi::on_all(comm, [&] {
    checkpoint.files = std::make_shared<WeightFiles>(folder);
    checkpoint.files->require_tensors_of(checkpoint.config, parameters_of(model));
    checkpoint.sequence = parse_sequence(*checkpoint.files);
    checkpoint.reads_bytes = checkpoint.files->metadata(kTextKey) == kReadsBytes;
  });
  return checkpoint;
}

std::vector<std::uint64_t> load_parameters(const Checkpoint& checkpoint, State& state, const Model& model,
                                           const mpi::Communicator& comm) {
  const WeightFiles& files = *checkpoint.files;
  const PartReader reader{
      .read = [&](const TensorPart& part) { return files.read_block(part.tensor, part.dims, part.ranges); },
      .expect = [&](const TensorPart& part) { files.expect_block(part.tensor, part.dims, part.ranges); }};
  return read_arrays(state, parameters_of(model), reader, comm);
}

}  // namespace shardline
