#include "models/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include "runtime/base/check.h"
#include "runtime/base/number.h"
#include "runtime/base/result_error.h"
#include "runtime/host/files.h"
#include "runtime/layout/blocks.h"
#include "runtime/layout/finite.h"
#include "runtime/mpi/request.h"

namespace shardline {
namespace {

constexpr const char* kSequenceKey = "shardline_sequence";
constexpr const char* kMachineKey = "shardline_machine";

std::string config_path(const std::string& folder) { return folder + "/config.json"; }
std::string weights_path(const std::string& folder) { return folder + "/model.safetensors"; }

/// Two products: the extents of the first `input_dims` dims, and those of the other dims.
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

/// Transposes a [rows, columns] matrix.
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

/// Tokens per sequence, from the metadata of the weights; 0 if there is no note.
Index parse_sequence(const WeightFiles& files) {
  const std::string text = files.metadata(kSequenceKey);
  if (text.empty()) return 0;
  const std::optional<Index> sequence = whole_number<Index>(text);
  require(sequence && *sequence >= 1, "{}: {} is \"{}\"; it must be a whole number of at least 1", files.path(),
          kSequenceKey, text);
  return *sequence;
}

/// Values per dim of our array, in the order of the stored dims: `out` first.
template <class T>
std::vector<T> in_stored_order(const ModelParameter& parameter, std::vector<T> dims) {
  std::rotate(dims.begin(), dims.begin() + parameter.input_dims, dims.end());
  return dims;
}

Shape shape_of(const std::vector<Range>& box) {
  Shape shape;
  for (const Range& range : box) shape.push_back(range.size());
  return shape;
}

/// The elements of a block read from its file, in the dims of the program.
Tensor from_stored(const ModelParameter& parameter, const Tensor& stored, const Shape& shape) {
  if (parameter.input_dims == 0) return stored;
  const auto [in, out] = matrix_extents(parameter, shape);
  return transposed(stored.reshaped({out, in})).reshaped(shape);
}

/// The block `box` of a parameter, read from its file in the form of the state.
Tensor read_block(const WeightFiles& files, const ModelParameter& parameter, const StateArray& array,
                  const std::vector<Range>& box) {
  const std::string& name = parameter.checkpoint_name;
  Tensor block = files.read_block(name, in_stored_order(parameter, array.shape), in_stored_order(parameter, box));
  if (block.dtype() != array.dtype) {
    block = block.as(array.dtype);
    if (!non_finite(block).empty()) {
      throw ResultError(
          fmt::format("tensor {} holds numbers too large for {}; --dtype f64 may help", name, name_of(array.dtype)));
    }
  }
  return from_stored(parameter, block, shape_of(box));
}

std::string packed(const Tensor& tensor) {
  if (tensor.size() == 0) return "";
  return {reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

Tensor unpacked(const std::string& bytes, DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  SHARDLINE_CHECK(static_cast<Index>(bytes.size()) == tensor.bytes(), "{} bytes for a tensor of {}", bytes.size(),
                  tensor.bytes());
  if (tensor.size() > 0) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

/// The different blocks of an array over all ranks.
std::vector<std::vector<Range>> distinct_blocks(const StateArray& array, const AbstractMesh& mesh) {
  std::vector<std::vector<Range>> blocks;
  for (Index rank = 0; rank < mesh.ranks(); ++rank) {
    std::vector<Range> held = box(array.shape, array.sharding, mesh, rank);
    if (std::find(blocks.begin(), blocks.end(), held) == blocks.end()) blocks.push_back(std::move(held));
  }
  return blocks;
}

/// The array of a parameter as its holders have it. Other ranks learn its type and blocks from them.
struct HeldParameter {
  int home = 0;  ///< the first rank that has it
  StateArray array;
  std::vector<std::vector<Range>> blocks;  ///< the different ones
};

/// Type and boxes as text: numbers in order.
std::string text_of(DType dtype, const std::vector<std::vector<Range>>& boxes) {
  std::string text = std::to_string(static_cast<int>(dtype));
  for (const std::vector<Range>& box : boxes) {
    for (const Range& range : box) text += fmt::format(" {} {}", range.begin, range.end);
  }
  return text;
}

/// Collective over `comm`: who has the array of a parameter, and how. Throws Error if nobody has it.
HeldParameter held_parameter(const State& state, const Program& program, const ModelParameter& parameter,
                             const mpi::Communicator& comm) {
  const Array& array = program.array(parameter.array);
  const double first = comm.min(state.contains(array.name) ? comm.rank() : comm.size());
  SHARDLINE_CHECK(first < comm.size(), "no rank of {} has {}", comm.size(), array.name);
  HeldParameter held{.home = static_cast<int>(first), .array = {}, .blocks = {}};
  held.array.name = array.name;
  held.array.shape = array.shape;
  std::string text;
  if (state.contains(array.name)) {
    const StateArray& mine = state.array(array.name);
    text = text_of(mine.dtype, distinct_blocks(mine, state.engine().mesh().axes()));
  }
  std::istringstream numbers(comm.broadcast(text, held.home));
  int dtype = 0;
  numbers >> dtype;
  held.array.dtype = static_cast<DType>(dtype);
  for (Range range; numbers >> range.begin >> range.end;) {
    if (held.blocks.empty() || held.blocks.back().size() == array.shape.size()) held.blocks.emplace_back();
    held.blocks.back().push_back(range);
  }
  return held;
}

/// Collective over `comm`: sends every block of a parameter from rank 0 to its holders.
void load_parameter(const WeightFiles* files, const ModelParameter& parameter, const HeldParameter& held, State& state,
                    const mpi::Communicator& comm) {
  const StateArray& array = held.array;
  const bool here = state.contains(array.name);
  std::vector<Range> mine;
  if (here) {
    const Mesh& mesh = state.engine().mesh();
    mine = box(array.shape, state.array(array.name).sharding, mesh.axes(), mesh.rank());
  }
  for (const std::vector<Range>& block : held.blocks) {
    const std::string bytes =
        mpi::on_root(comm, 0, [&] { return packed(read_block(*files, parameter, array, block)); });
    if (here && block == mine) state.set(array.name, unpacked(bytes, array.dtype, shape_of(block)));
  }
}

/// Collective over `comm`: the whole array on rank 0; empty on the others.
std::optional<Tensor> whole_on_root(const State& state, const HeldParameter& held, const mpi::Communicator& comm) {
  constexpr int kTag = 0;
  std::optional<Tensor> whole;
  if (state.contains(held.array.name)) whole = state.gather(held.array.name);
  const bool sends = comm.rank() == held.home && held.home != 0;
  if (sends) mpi::isend(comm, {whole->data(), whole->bytes(), nullptr}, {0, kTag}).wait();
  if (comm.rank() != 0) return std::nullopt;
  if (held.home == 0) return whole;
  whole.emplace(held.array.dtype, held.array.shape);
  mpi::irecv(comm, {whole->data(), whole->bytes(), nullptr}, {held.home, kTag}).wait();
  return whole;
}

}  // namespace

void save_checkpoint(const State& state, const std::string& folder, const TransformerConfig& config, const Model& model,
                     const TrainingNotes& notes, const mpi::Communicator& comm) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const ModelParameter& parameter : model.parameters) {
    const std::optional<Tensor> whole =
        whole_on_root(state, held_parameter(state, model.program, parameter, comm), comm);
    if (whole) tensors.emplace_back(parameter.checkpoint_name, to_stored(parameter, *whole));
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

Checkpoint open_checkpoint(const mpi::Communicator& comm, const std::string& folder) {
  Checkpoint checkpoint;
  ReadConfig read =
      parse_config(mpi::on_root(comm, 0, [&] { return read_description(config_path(folder)); }), config_path(folder));
  checkpoint.config = read.config;
  checkpoint.remarks = std::move(read.remarks);
  const Model model = make_inference(checkpoint.config, {1, 1});
  const std::string sequence = mpi::on_root(comm, 0, [&] {
    checkpoint.files = std::make_shared<WeightFiles>(folder);
    checkpoint.files->require_tensors_of(checkpoint.config, model);
    for (const ModelParameter& parameter : model.parameters) {
      checkpoint.files->require_weight(parameter.checkpoint_name,
                                       stored_shape(parameter, model.program.array(parameter.array).shape));
    }
    return std::to_string(parse_sequence(*checkpoint.files));
  });
  checkpoint.sequence = std::stoll(sequence);
  return checkpoint;
}

void load_parameters(const Checkpoint& checkpoint, State& state, const mpi::Communicator& comm) {
  const Model model = make_inference(checkpoint.config, {1, 1});
  for (const ModelParameter& parameter : model.parameters) {
    const HeldParameter held = held_parameter(state, model.program, parameter, comm);
    load_parameter(checkpoint.files.get(), parameter, held, state, comm);
  }
}

}  // namespace shardline
