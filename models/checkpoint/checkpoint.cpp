#include "models/checkpoint/checkpoint.h"

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "models/checkpoint/weight_files.h"
#include "runtime/base/check.h"
#include "runtime/base/number.h"
#include "runtime/base/result_error.h"
#include "runtime/host/files.h"
#include "runtime/layout/finite.h"

namespace shardline {
namespace {

constexpr const char* kSequenceKey = "shardline_sequence";
constexpr const char* kMachineKey = "shardline_machine";

std::string config_path(const std::string& folder) { return folder + "/config.json"; }
std::string weights_path(const std::string& folder) { return folder + "/model.safetensors"; }

/// Extents of our leading `input_dims` dims and of the others, each multiplied together.
std::pair<Index, Index> matrix_extents(const ModelParameter& parameter, const Shape& shape) {
  Index in = 1;
  Index out = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) (static_cast<int>(d) < parameter.input_dims ? in : out) *= shape[d];
  return {in, out};
}

Shape stored_shape(const ModelParameter& parameter, const Shape& shape) {
  if (parameter.input_dims == 0) return shape;
  const auto [in, out] = matrix_extents(parameter, shape);
  return {out, in};
}

/// A [rows, columns] matrix turned into [columns, rows].
Tensor transposed(const Tensor& matrix) {
  const Index rows = matrix.extent(0);
  const Index columns = matrix.extent(1);
  const auto item = static_cast<std::size_t>(size_of(matrix.dtype()));
  Tensor result(matrix.dtype(), {columns, rows});
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < columns; ++c) {
      std::memcpy(result.data() + static_cast<std::size_t>(c * rows + r) * item,
                  matrix.data() + static_cast<std::size_t>(r * columns + c) * item, item);
    }
  }
  return result;
}

Tensor to_stored(const ModelParameter& parameter, const Tensor& whole) {
  if (parameter.input_dims == 0) return whole;
  const auto [in, out] = matrix_extents(parameter, whole.shape());
  return transposed(whole.reshaped({in, out}));
}

/// Tokens per sequence as noted beside the weights; 0 when nothing is.
Index parse_sequence(const WeightFiles& files) {
  const std::string text = files.metadata(kSequenceKey);
  if (text.empty()) return 0;
  const std::optional<Index> sequence = whole_number<Index>(text);
  require(sequence && *sequence >= 1, "{}: {} is \"{}\"; it must be a whole number of at least 1", files.path(),
          kSequenceKey, text);
  return *sequence;
}

/// The tensor's element type and bytes, for sending to ranks that know its shape.
std::string packed(const Tensor& tensor) {
  std::string bytes(1, static_cast<char>(tensor.dtype()));
  return bytes.append(reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes()));
}

Tensor unpacked(const std::string& bytes, const Shape& shape) {
  Tensor tensor(static_cast<DType>(bytes.at(0)), shape);
  SHARDLINE_CHECK(static_cast<Index>(bytes.size()) == tensor.bytes() + 1, "{} bytes for a tensor of {}",
                  bytes.size() - 1, tensor.bytes());
  if (tensor.size() > 0) std::memcpy(tensor.data(), bytes.data() + 1, bytes.size() - 1);
  return tensor;
}

}  // namespace

void save_checkpoint(const mpi::Communicator& comm, const std::string& folder, const TransformerConfig& config,
                     const Transformer& model, const std::function<Tensor(std::size_t)>& parameter,
                     const TrainingNotes& notes) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const Tensor whole = parameter(i);
    if (comm.rank() == 0)
      tensors.emplace_back(model.parameters[i].checkpoint_name, to_stored(model.parameters[i], whole));
  }
  mpi::on_root(comm, 0, [&] {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    require(std::filesystem::is_directory(folder), "{}: cannot make the folder: {}", folder, failure.message());
    std::map<std::string, std::string> metadata{{"format", "pt"}, {kSequenceKey, std::to_string(notes.sequence)}};
    if (!notes.machine_hash.empty()) metadata[kMachineKey] = notes.machine_hash;
    write_safetensors(weights_path(folder), tensors, metadata);
    WholeFile file(config_path(folder));
    const std::string text = to_json(config);
    file.write(text.data(), text.size());
    file.commit();
    return std::string();
  });
}

std::vector<std::string> saved_files(const std::string& folder) { return {weights_path(folder), config_path(folder)}; }

Bytes checkpoint_bytes(const mpi::Communicator& comm, const std::string& folder) {
  const std::string bytes = mpi::on_root(comm, 0, [&] {
    std::uintmax_t sum = 0;
    std::error_code failure;
    for (const auto& file : std::filesystem::directory_iterator(folder, failure)) {
      const std::uintmax_t size = file.path().extension() == ".safetensors" ? file.file_size(failure) : 0;
      if (!failure) sum += size;
    }
    return std::to_string(sum);
  });
  return Bytes(std::stod(bytes));
}

Checkpoint load_checkpoint(const mpi::Communicator& comm, const std::string& folder) {
  Checkpoint checkpoint;
  ReadConfig read =
      parse_config(mpi::on_root(comm, 0, [&] { return read_description(config_path(folder)); }), config_path(folder));
  checkpoint.config = read.config;
  checkpoint.remarks = std::move(read.remarks);
  const Transformer model = make_inference(checkpoint.config, {1, 1});
  std::unique_ptr<WeightFiles> files;  // on rank 0
  const std::string sequence = mpi::on_root(comm, 0, [&] {
    files = std::make_unique<WeightFiles>(folder);
    files->require_tensors_of(checkpoint.config, model);
    return std::to_string(parse_sequence(*files));
  });
  checkpoint.sequence = std::stoll(sequence);
  for (const ModelParameter& parameter : model.parameters) {
    const Shape shape = stored_shape(parameter, model.program.array(parameter.array).shape);
    const std::string& name = parameter.checkpoint_name;
    checkpoint.tensors[name] = unpacked(mpi::on_root(comm, 0, [&] { return packed(files->read(name, shape)); }), shape);
  }
  return checkpoint;
}

Tensor from_checkpoint(const Checkpoint& checkpoint, const ModelParameter& parameter, const Array& array, DType dtype) {
  const Tensor& read = checkpoint.tensors.at(parameter.checkpoint_name);
  const Tensor stored = read.dtype() == dtype ? read : read.as(dtype);
  if (read.dtype() != dtype && !non_finite(stored).empty()) {
    throw ResultError(fmt::format("tensor {} holds numbers too large for {}; --dtype f64 may help",
                                  parameter.checkpoint_name, name_of(dtype)));
  }
  return parameter.input_dims == 0 ? stored : transposed(stored).reshaped(array.shape);
}

}  // namespace shardline
