#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/architecture/model.h"
#include "program/run/state.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// An array of a state as a file has it: one tensor, or one for each expert (see ModelParameter).
struct FileArray {
  std::string name;   ///< in the file. By expert it has {} for the number
  std::string state;  ///< in the state
  Shape shape;        ///< logical, in our dims
  Shape in_file;      ///< that of each tensor in the file
  DType dtype = DType::f32;
  int input_dims = 0;  ///< see stored_form.h. By expert it counts the dims after the first
  bool by_expert = false;
};

/// The parameters of a model under their names in a checkpoint.
std::vector<FileArray> parameters_of(const Model& model);

/// The optimizer's moments of these parameters, if it has some: `NAME.exp_avg` is the mean of the gradient, and
/// `NAME.exp_avg_sq` that of its square.
std::vector<FileArray> moments_of(const Model& model);

/// The number of tensors that hold an array in a file.
std::size_t tensor_count(const FileArray& array);

/// The name of one of them. By expert `tensor` is the number of the expert.
std::string tensor_name(const FileArray& array, std::size_t tensor);

/// The names of all tensors of these arrays, in order.
std::vector<std::string> tensor_names(const std::vector<FileArray>& arrays);

/// Values by dim of an array, without that of the experts: those of one tensor, in our order.
template <class T>
std::vector<T> of_tensor(const FileArray& array, std::vector<T> dims) {
  if (array.by_expert) dims.erase(dims.begin());
  return dims;
}

/// A block: one range per dim.
using Box = std::vector<Range>;

/// The number, among the tensors of an array, of the one that holds `part`. By expert a part lies in one expert.
std::size_t tensor_of(const FileArray& array, const Box& part);

/// A part of one tensor, in the order of the file: one range for each of its dims.
struct TensorPart {
  std::string tensor;  ///< its name
  Shape dims;
  Box ranges;
};

/// A part of an array in the file. By expert it lies in one expert.
TensorPart in_file(const FileArray& array, const Box& part);

Shape shape_of(const Box& box);
/// `inner`, which lies in `outer`, counted from the first element of `outer`.
Box within(const Box& outer, const Box& inner);

/// How an array is cut over the ranks: as the state holds it, or in whole rows of its tensors. Then the axes that split
/// other dims split the first dim of the tensors instead, so that each rank has one piece of each. By expert, the axes
/// that split the experts stay where they are.
enum class Division : std::uint8_t { held, rows };

/// This rank's block of an array of the state.
Box own_box(const State& state, const FileArray& array, Division cut);

/// This rank's block. Cut into rows: collective over the axes that split the array.
Tensor own_block(const State& state, const FileArray& array, Division cut);

/// Collective over the axes that split the array: gives the state its block from this rank's rows.
void set_from_rows(State& state, const FileArray& array, const Tensor& rows);

/// Collective over `comm`: the mesh of `state`, or the ranks of all stages, each with a state of its own. The part of
/// each array for which this rank answers. Together the parts of all ranks hold every element once: ranks with
/// equal blocks split them evenly. The part is empty ({}) if this rank has none.
std::vector<Box> own_shares(const State& state, const std::vector<FileArray>& arrays, Division cut,
                            const mpi::Communicator& comm);

/// Calls body(part) for the part of `box` in each tensor.
void for_each_tensor(const FileArray& array, const Box& box, const std::function<void(const Box&)>& body);

/// The same for one part of each after the other, of about 4 MiB. Parts are cut along the first dim of the tensor.
void for_each_part(const FileArray& array, const Box& box, const std::function<void(const Box&)>& body);

/// The memory, in bytes, beside the state to make a block of a parameter with elements of `item` bytes and give it to
/// the state: the block, the same in rows, and a part of it as the file has it, converted and in the other order.
/// Saving needs less.
double loading_memory(const Shape& block, const ModelParameter& parameter, double item);

}  // namespace shardline
