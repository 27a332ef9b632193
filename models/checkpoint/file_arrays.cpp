#include "models/checkpoint/file_arrays.h"

#include <algorithm>
#include <map>

#include "collectives/all_to_all.h"
#include "models/checkpoint/stored_form.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

constexpr Index kPartBytes = Index{4} << 20;

/// The first of our dims that a tensor of the file has.
std::size_t first_tensor_dim(bool by_expert) { return by_expert ? 1 : 0; }

/// The first dim of a tensor of the file, among our dims.
std::size_t first_stored_dim(const Shape& shape, int input_dims, bool by_expert) {
  const std::size_t first = first_tensor_dim(by_expert);
  SHARDLINE_CHECK(shape.size() > first, "an array without dims is in no file");
  return first + static_cast<std::size_t>(input_dims) % (shape.size() - first);
}

std::size_t first_stored_dim(const FileArray& array) {
  return first_stored_dim(array.shape, array.input_dims, array.by_expert);
}

/// The elements for one index of this dim.
Index row_elements(const Shape& block, std::size_t dim) {
  Index elements = 1;
  for (std::size_t d = 0; d < block.size(); ++d) {
    if (d != dim) elements *= block[d];
  }
  return elements;
}

/// The axes of one dim that move to the first dim of the tensors.
struct Move {
  int from = 0;
  Axes axes;
};

/// What moves to cut the array into rows, in order, and the sharding after that.
std::pair<std::vector<Move>, Sharding> moves_to_rows(const State& state, const FileArray& array) {
  Sharding sharding = state.array(array.state).sharding;
  const std::size_t first = first_stored_dim(array);
  std::vector<Move> moves;
  for (std::size_t d = first_tensor_dim(array.by_expert); d < sharding.dims.size(); ++d) {
    if (d == first || sharding.dims[d].empty()) continue;
    moves.push_back({static_cast<int>(d), sharding.dims[d]});
    sharding.dims[first].insert(sharding.dims[first].end(), sharding.dims[d].begin(), sharding.dims[d].end());
    sharding.dims[d].clear();
  }
  return {moves, sharding};
}

Sharding sharding_of(const State& state, const FileArray& array, Division cut) {
  return cut == Division::held ? state.array(array.state).sharding : moves_to_rows(state, array).second;
}

/// Collective over `axes`: moves them from one dim to another. The block changes its shape accordingly.
Tensor moved(const State& state, const FileArray& array, const Tensor& block, Sharding& sharding, const Move& move,
             bool back) {
  const auto first = static_cast<int>(first_stored_dim(array));
  const int from = back ? first : move.from;
  const int to = back ? move.from : first;
  Axes& source = sharding.dims[static_cast<std::size_t>(from)];
  Axes& target = sharding.dims[static_cast<std::size_t>(to)];
  source.resize(source.size() - move.axes.size());
  target.insert(target.end(), move.axes.begin(), move.axes.end());
  const Mesh& mesh = state.engine().mesh();
  Tensor result(block.dtype(), local_shape(array.shape, sharding, mesh.axes(), mesh.rank()));
  collectives::all_to_all(state.engine(), move.axes, block, from, to, result);
  return result;
}

/// The place of this rank among those of its mesh with an equal block, and their number.
std::pair<Index, Index> place_among_equals(const State& state, const FileArray& array, Division cut, const Box& mine) {
  const Mesh& mesh = state.engine().mesh();
  const Sharding sharding = sharding_of(state, array, cut);
  Index place = 0;
  Index count = 0;
  for (Index rank = 0; rank < mesh.axes().ranks(); ++rank) {
    if (box(array.shape, sharding, mesh.axes(), rank) != mine) continue;
    if (rank == mesh.rank()) place = count;
    ++count;
  }
  return {place, count};
}

/// The share of this rank, whose stage answers for the array.
Box share_of(const State& state, const FileArray& array, Division how) {
  Box share = own_box(state, array, how);
  const auto [place, count] = place_among_equals(state, array, how, share);
  Range& cut = share[first_stored_dim(array)];
  const Range part = block(cut.size(), count, place);
  cut = {cut.begin + part.begin, cut.begin + part.end};
  return element_count(shape_of(share)) > 0 ? share : Box{};
}

}  // namespace

std::vector<FileArray> parameters_of(const Model& model) {
  std::vector<FileArray> arrays;
  for (const ModelParameter& parameter : model.parameters) {
    const Array& array = model.program.array(parameter.array);
    FileArray in_files{.name = parameter.checkpoint_name,
                       .state = array.name,
                       .shape = array.shape,
                       .in_file = {},
                       .dtype = array.dtype,
                       .input_dims = parameter.input_dims,
                       .by_expert = parameter.by_expert};
    const Shape tensor = of_tensor(in_files, array.shape);
    in_files.in_file = parameter.flat ? Shape{element_count(tensor)} : stored_shape(tensor, parameter.input_dims);
    arrays.push_back(std::move(in_files));
  }
  return arrays;
}

std::vector<FileArray> moments_of(const Model& model) {
  std::map<std::string, const Array*> of_optimizer;
  for (const Array& array : model.program.arrays) {
    if (array.role == Role::optimizer_state) of_optimizer[array.name] = &array;
  }
  std::vector<FileArray> moments;
  for (const FileArray& parameter : parameters_of(model)) {
    for (const auto& [begin, end] : {std::pair("m.", ".exp_avg"), std::pair("v.", ".exp_avg_sq")}) {
      const auto found = of_optimizer.find(begin + parameter.state);
      if (found == of_optimizer.end()) continue;
      const Array& array = *found->second;
      FileArray moment = parameter;
      moment.name += end;
      moment.state = array.name;
      moment.dtype = array.dtype;
      moments.push_back(std::move(moment));
    }
  }
  return moments;
}

std::size_t tensor_count(const FileArray& array) {
  return array.by_expert ? static_cast<std::size_t>(array.shape[0]) : 1;
}

std::string tensor_name(const FileArray& array, std::size_t tensor) {
  return array.by_expert ? fmt::format(fmt::runtime(array.name), tensor) : array.name;
}

std::vector<std::string> tensor_names(const std::vector<FileArray>& arrays) {
  std::vector<std::string> names;
  for (const FileArray& array : arrays) {
    for (std::size_t tensor = 0; tensor < tensor_count(array); ++tensor) names.push_back(tensor_name(array, tensor));
  }
  return names;
}

std::size_t tensor_of(const FileArray& array, const Box& part) {
  if (!array.by_expert) return 0;
  SHARDLINE_CHECK(part[0].size() == 1, "a part of {} with {} experts", array.name, part[0].size());
  return static_cast<std::size_t>(part[0].begin);
}

TensorPart in_file(const FileArray& array, const Box& part) {
  return {.tensor = tensor_name(array, tensor_of(array, part)),
          .dims = in_stored_order(of_tensor(array, array.shape), array.input_dims),
          .ranges = in_stored_order(of_tensor(array, part), array.input_dims)};
}

Shape shape_of(const Box& box) {
  Shape shape;
  for (const Range& range : box) shape.push_back(range.size());
  return shape;
}

Box within(const Box& outer, const Box& inner) {
  Box result;
  for (std::size_t d = 0; d < inner.size(); ++d) {
    result.push_back({inner[d].begin - outer[d].begin, inner[d].end - outer[d].begin});
  }
  return result;
}

Box own_box(const State& state, const FileArray& array, Division cut) {
  const Mesh& mesh = state.engine().mesh();
  return box(array.shape, sharding_of(state, array, cut), mesh.axes(), mesh.rank());
}

Tensor own_block(const State& state, const FileArray& array, Division cut) {
  Tensor block = state.block(array.state);
  if (cut == Division::held) return block;
  Sharding sharding = state.array(array.state).sharding;
  for (const Move& move : moves_to_rows(state, array).first) {
    block = moved(state, array, block, sharding, move, false);
  }
  return block;
}

void set_from_rows(State& state, const FileArray& array, const Tensor& rows) {
  auto [moves, sharding] = moves_to_rows(state, array);
  Tensor block = rows;
  for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
    block = moved(state, array, block, sharding, *move, true);
  }
  state.set(array.state, block);
}

std::vector<Box> own_shares(const State& state, const std::vector<FileArray>& arrays, Division cut,
                            const mpi::Communicator& comm) {
  std::string here;
  for (const FileArray& array : arrays) here += state.contains(array.state) ? 'y' : 'n';
  const std::vector<std::string> everywhere = comm.all_gather_bytes(here);
  const auto first_of_stage = static_cast<int>(state.engine().mesh().comm().min(comm.rank()));
  std::vector<Box> shares;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    int first = 0;  // the rank whose stage answers
    while (first < comm.size() && everywhere[static_cast<std::size_t>(first)][a] != 'y') ++first;
    SHARDLINE_CHECK(first < comm.size(), "no rank of {} has {}", comm.size(), arrays[a].state);
    shares.push_back(here[a] == 'y' && first == first_of_stage ? share_of(state, arrays[a], cut) : Box{});
  }
  return shares;
}

void for_each_tensor(const FileArray& array, const Box& box, const std::function<void(const Box&)>& body) {
  if (box.empty() || !array.by_expert) return body(box);
  Box one = box;
  for (Index expert = box[0].begin; expert < box[0].end; ++expert) {
    one[0] = {expert, expert + 1};
    body(one);
  }
}

void for_each_part(const FileArray& array, const Box& box, const std::function<void(const Box&)>& body) {
  if (box.empty()) return;
  const std::size_t dim = first_stored_dim(array);
  for_each_tensor(array, box, [&](const Box& in_tensor) {
    const Index row = std::max<Index>(1, row_elements(shape_of(in_tensor), dim) * size_of(array.dtype));
    const Index step = std::max<Index>(1, kPartBytes / row);
    Box part = in_tensor;
    for (Index begin = box[dim].begin; begin < box[dim].end; begin += step) {
      part[dim] = {begin, std::min(begin + step, box[dim].end)};
      body(part);
    }
  });
}

double loading_memory(const Shape& block, const ModelParameter& parameter, double item) {
  constexpr double kCopies = 3;
  constexpr double kWidest = 8;  // bytes of an element in a file
  Shape in_tensor = block;
  if (parameter.by_expert) in_tensor[0] = std::min<Index>(1, block[0]);
  const std::size_t dim = first_stored_dim(block, parameter.input_dims, parameter.by_expert);
  const auto row = static_cast<double>(row_elements(in_tensor, dim));
  const double part =
      std::min(static_cast<double>(element_count(in_tensor)), std::max(row, static_cast<double>(kPartBytes) / item));
  return 2 * static_cast<double>(element_count(block)) * item + kCopies * kWidest * part;
}

}  // namespace shardline
