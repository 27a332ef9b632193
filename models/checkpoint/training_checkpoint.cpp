#include "models/checkpoint/training_checkpoint.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

#include "models/architecture/strict_json.h"
#include "models/checkpoint/digests.h"
#include "models/checkpoint/step_folders.h"
#include "models/checkpoint/tensor_files.h"
#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/host/files.h"

namespace shardline {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kFormat = "shardline.checkpoint/1";
constexpr const char* kMoments = "/optimizer.safetensors";

OrderedJson digests_json(const std::vector<FileArray>& arrays, const std::vector<std::uint64_t>& digests) {
  const std::vector<std::string> tensors = tensor_names(arrays);
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < tensors.size(); ++i) json[tensors[i]] = fmt::format("{:016x}", digests[i]);
  return json;
}

/// The members of a manifest, each checked when it is read.
class ManifestReader {
 public:
  explicit ManifestReader(std::string path)
      : path_(std::move(path)), json_(parse_object(read_description(path_), path_, "the manifest", 4)) {
    const std::string format = text(json_, "format");
    require(format == kFormat, "{}: format \"{}\"; this version reads \"{}\"", path_, format, kFormat);
  }

  Index number(const char* key) const {
    const nlohmann::json& value = member(json_, key);
    require(value.is_number_unsigned(), "{}: {} is {}; it must be a whole number", path_, key, shown(value));
    return value.get<Index>();
  }

  std::map<std::string, std::string> texts(const char* key) const {
    const nlohmann::json& object = member(json_, key);
    require(object.is_object(), "{}: {} is {}; it must be an object of strings", path_, key, shown(object));
    std::map<std::string, std::string> result;
    for (const auto& [name, value] : object.items()) result[name] = text(object, name.c_str());
    return result;
  }

  std::map<std::string, std::uint64_t> digests(const char* key) const {
    std::map<std::string, std::uint64_t> result;
    for (const auto& [name, digits] : texts(key)) {
      const bool good = digits.size() == 16 && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
      require(good, "{}: {} of {} is \"{}\"; it must be 16 hexadecimal digits", path_, key, name, digits);
      result[name] = std::stoull(digits, nullptr, 16);
    }
    return result;
  }

 private:
  const nlohmann::json& member(const nlohmann::json& object, const char* key) const {
    require(object.contains(key), "{}: {} is missing", path_, key);
    return object.at(key);
  }
  std::string text(const nlohmann::json& object, const char* key) const {
    const nlohmann::json& value = member(object, key);
    require(value.is_string(), "{}: {} is {}; it must be a string", path_, key, shown(value));
    return value.get<std::string>();
  }

  std::string path_;
  nlohmann::json json_;
};

/// Writes the files of a checkpoint into its partial folder.
void write_step(const State& state, const std::string& partial, const TrainingCheckpoint& what, const Model& model,
                const mpi::Communicator& comm) {
  const std::vector<FileArray> moments = moments_of(model);
  OrderedJson manifest{{"format", kFormat},
                       {"steps", what.position.steps},
                       {"samples", what.position.samples},
                       {"settings", what.settings}};
  manifest["digests"] =
      digests_json(parameters_of(model), save_checkpoint(state, partial, what.config, model, what.notes, comm));
  manifest["digests"].update(digests_json(moments, write_arrays(state, moments, partial + kMoments, {}, comm)));
  mpi::on_root(comm, 0, [&] {
    write_whole_file(manifest_path(partial), manifest.dump(1) + "\n");
    return std::string();
  });
}

/// Throws UsageError unless the file has a tensor of the array as the run needs it, and the manifest its digest.
void require_tensor(const OpenedStep& step, const FileArray& array, const std::string& tensor,
                    const SafetensorsFile& file) {
  require(file.contains(tensor) && step.digests.contains(tensor), "{}: tensor {} is missing", step.folder, tensor);
  const SafetensorsEntry& entry = file.info(tensor);
  require(entry.shape == array.in_file && file.dtype(tensor) == array.dtype,
          "{}: tensor {} is {} {}, the run needs {} {}", file.path(), tensor, entry.dtype, to_string(entry.shape),
          name_of(array.dtype), to_string(array.in_file));
}

/// Throws UsageError unless the checkpoint has the tensors of these arrays, and no others.
void require_tensors(const OpenedStep& step, const std::vector<FileArray>& parameters,
                     const std::vector<FileArray>& moments) {
  std::set<std::string> wanted;
  const auto look_at = [&](const std::vector<FileArray>& arrays, const auto& file_of) {
    for (const FileArray& array : arrays) {
      for (const std::string& tensor : tensor_names({array})) {
        require_tensor(step, array, tensor, file_of(tensor));
        wanted.insert(tensor);
      }
    }
  };
  look_at(parameters,
          [&](const std::string& tensor) -> SafetensorsFile& { return step.weights.files->file_of(tensor); });
  look_at(moments, [&](const std::string&) -> SafetensorsFile& { return *step.moments; });
  const auto require_wanted = [&](const std::string& path, const std::string& tensor) {
    require(wanted.contains(tensor), "{}: tensor {}: the run has none of this name", path, tensor);
  };
  for (const auto& [tensor, digest] : step.digests) require_wanted(manifest_path(step.folder), tensor);
  for (const std::string& tensor : step.moments->names()) require_wanted(step.moments->path(), tensor);
}

/// Compares what is loaded with what was saved.
void require_digests(const OpenedStep& step, const std::vector<FileArray>& arrays,
                     const std::vector<std::uint64_t>& found) {
  const std::vector<std::string> tensors = tensor_names(arrays);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (found[i] == step.digests.at(tensors[i])) continue;
    throw ResultError(fmt::format("{}: tensor {} is altered: its digest is {:016x}, and was {:016x} when it was saved",
                                  step.folder, tensors[i], found[i], step.digests.at(tensors[i])));
  }
}

}  // namespace

void save_step(const State& state, const CheckpointFolder& folder, const TrainingCheckpoint& what, const Model& model,
               const mpi::Communicator& comm) {
  const Index step = what.position.steps;
  const std::string partial = mpi::on_root(comm, 0, [&] { return begin_step(folder.path, step); });
  try {
    write_step(state, partial, what, model, comm);
    mpi::on_root(comm, 0, [&] {
      publish_step(folder.path, step);
      return std::string();
    });
  } catch (...) {
    if (comm.rank() == 0) abandon_step(folder.path, step);
    throw;
  }
  if (comm.rank() == 0 && folder.keep > 0) remove_old_steps(folder.path, folder.keep);
}

OpenedStep open_step(const mpi::Communicator& comm, const std::string& folder) {
  OpenedStep step;
  step.folder = mpi::on_root(comm, 0, [&] { return step_folder(folder); });
  mpi::on_all(comm, [&] {
    const ManifestReader manifest(manifest_path(step.folder));
    step.what.position = {.steps = manifest.number("steps"), .samples = manifest.number("samples")};
    step.what.settings = manifest.texts("settings");
    step.digests = manifest.digests("digests");
    step.moments = std::make_shared<SafetensorsFile>(step.folder + kMoments);
  });
  step.weights = open_checkpoint(comm, step.folder);
  step.what.config = step.weights.config;
  step.what.notes.sequence = step.weights.sequence;
  return step;
}

void load_step(const OpenedStep& step, State& state, const Model& model, const mpi::Communicator& comm) {
  const std::vector<FileArray> parameters = parameters_of(model);
  const std::vector<FileArray> moments = moments_of(model);
  mpi::on_all(comm, [&] { require_tensors(step, parameters, moments); });
  require_digests(step, parameters, load_parameters(step.weights, state, model, comm));
  const SafetensorsFile& file = *step.moments;
  const PartReader reader{
      .read = [&](const TensorPart& part) { return file.read_block(part.tensor, part.dims, part.ranges); },
      .expect = [&](const TensorPart& part) { file.expect_block(part.tensor, part.dims, part.ranges); }};
  require_digests(step, moments, read_arrays(state, moments, reader, comm));
}

}  // namespace shardline
