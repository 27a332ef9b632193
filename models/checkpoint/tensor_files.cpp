#include "models/checkpoint/tensor_files.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "models/checkpoint/digests.h"
#include "models/checkpoint/safetensors.h"
#include "models/checkpoint/stored_form.h"
#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/host/block_file.h"
#include "runtime/host/files.h"
#include "runtime/layout/block_strips.h"
#include "runtime/layout/finite.h"

namespace shardline {
namespace {

SafetensorsLayout layout_of(const std::vector<FileArray>& arrays, const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsArray> in_file;
  for (const FileArray& array : arrays) {
    for (const std::string& name : tensor_names({array})) in_file.push_back({name, array.dtype, array.in_file});
  }
  return safetensors_layout(in_file, metadata);
}

/// Writes a part of a tensor whose elements begin at `begin` of the file.
void write_part(const BlockFile& file, Index begin, const FileArray& array, const Box& part, const Tensor& block) {
  const Tensor stored = to_stored(block.reshaped(of_tensor(array, block.shape())), array.input_dims);
  const Index item = size_of(array.dtype);
  const TensorPart place = in_file(array, part);
  for_each_strip(place.dims, place.ranges, [&](Index to, Index from, Index count) {
    file.write_at(begin + to * item, stored.data() + from * item, static_cast<std::size_t>(count * item));
    file.start_writing(begin + to * item, count * item);
  });
}

/// Writes this rank's share of an array. Its tensors begin at `begins` of the file. Adds to their digests.
void write_share(const FileArray& array, const Box& share, const Box& mine, const Tensor& held, const BlockFile& file,
                 const Index* begins, std::uint64_t* digests) {
  for_each_part(array, share, [&](const Box& part) {
    const Tensor block = held.slice(within(mine, part));
    const std::size_t tensor = tensor_of(array, part);
    digests[tensor] += digest_of(array, part, block);
    write_part(file, begins[tensor], array, part, block);
  });
}

/// Collective over the mesh of the state: writes this rank's shares, and returns their part of the digests. A rank that
/// cannot write still takes part in the exchanges; then it throws ResultError.
std::vector<std::uint64_t> write_shares(const State& state, const std::vector<FileArray>& arrays,
                                        const std::vector<Box>& shares, const SafetensorsLayout& layout,
                                        const BlockFile& file) {
  std::vector<std::uint64_t> parts(layout.offsets.size(), 0);
  std::optional<ResultError> failure;
  for (std::size_t a = 0, first = 0; a < arrays.size(); first += tensor_count(arrays[a]), ++a) {
    const FileArray& array = arrays[a];
    if (!state.contains(array.state)) continue;
    const Tensor rows = own_block(state, array, Division::rows);
    SHARDLINE_CHECK(rows.dtype() == array.dtype, "{} is {} in the state and {} in the file", array.state,
                    name_of(rows.dtype()), name_of(array.dtype));
    if (shares[a].empty() || failure) continue;
    try {
      write_share(array, shares[a], own_box(state, array, Division::rows), rows, file, &layout.offsets[first],
                  &parts[first]);
    } catch (const ResultError& error) {
      failure = error;
    }
  }
  if (failure) throw *failure;
  return parts;
}

/// The elements of a part in our order, in the element type of the state.
Tensor read_part(const FileArray& array, const Box& part, DType dtype, const PartReader& reader) {
  const TensorPart place = in_file(array, part);
  Tensor stored = reader.read(place);
  if (stored.dtype() != dtype) {
    stored = stored.as(dtype);
    if (!non_finite(stored).empty()) {
      throw ResultError(
          fmt::format("tensor {} holds numbers too large for {}; --dtype f64 may help", place.tensor, name_of(dtype)));
    }
  }
  const Shape shape = shape_of(part);
  return from_stored(stored, of_tensor(array, shape), array.input_dims).reshaped(shape);
}

/// What two parts of one array have in common; empty ({}) if it is nothing.
Box common(const Box& one, const Box& other) {
  if (one.empty() || other.empty()) return {};
  Box both;
  for (std::size_t d = 0; d < one.size(); ++d) {
    both.push_back({std::max(one[d].begin, other[d].begin), std::min(one[d].end, other[d].end)});
    if (both.back().begin >= both.back().end) return {};
  }
  return both;
}

/// This rank's rows of an array. Adds its share of them to the digests of the tensors.
Tensor read_rows(const FileArray& array, const Box& mine, const Box& share, DType dtype, const PartReader& reader,
                 std::uint64_t* digests) {
  Tensor rows(dtype, shape_of(mine));
  for_each_part(array, mine, [&](const Box& part) {
    const Tensor block = read_part(array, part, dtype, reader);
    const Box counted = common(part, share);
    if (!counted.empty()) {
      digests[tensor_of(array, part)] += digest_of(array, counted, block.slice(within(part, counted)));
    }
    rows.assign(within(mine, part), block);
  });
  return rows;
}

/// Reads arrays one after the other. After a failure it gives zeros, so that the ranks go on together.
class RowReader {
 public:
  RowReader(const State& state, const PartReader& reader) : state_(state), reader_(reader) {}

  void expect(const FileArray& array) const {
    if (!state_.contains(array.state)) return;
    for_each_tensor(array, own_box(state_, array, Division::rows),
                    [&](const Box& part) { reader_.expect(in_file(array, part)); });
  }

  Tensor read(const FileArray& array, const Box& share, std::uint64_t* digests) {
    const DType dtype = state_.array(array.state).dtype;
    const Box mine = own_box(state_, array, Division::rows);
    try {
      if (!failure_) return read_rows(array, mine, share, dtype, reader_, digests);
    } catch (const ResultError& error) {
      failure_ = error;
    }
    return Tensor::zeros(dtype, shape_of(mine));
  }

  const std::optional<ResultError>& failure() const { return failure_; }

 private:
  const State& state_;
  const PartReader& reader_;
  std::optional<ResultError> failure_;
};

}  // namespace

std::vector<std::uint64_t> write_arrays(const State& state, const std::vector<FileArray>& arrays,
                                        const std::string& path, const std::map<std::string, std::string>& metadata,
                                        const mpi::Communicator& comm) {
  const std::vector<Box> shares = own_shares(state, arrays, Division::rows, comm);
  const SafetensorsLayout layout = layout_of(arrays, metadata);
  std::unique_ptr<WholeFile> whole;  // on rank 0
  const std::string temporary = mpi::on_root(comm, 0, [&] {
    whole = std::make_unique<WholeFile>(path);
    whole->resize(layout.bytes);
    whole->write(layout.head.data(), layout.head.size());
    return whole->temporary();
  });
  std::unique_ptr<BlockFile> file;
  mpi::on_all(comm, [&] { file = std::make_unique<BlockFile>(temporary, BlockFile::Use::write); });
  std::vector<std::uint64_t> parts;
  mpi::on_all(comm, [&] {
    parts = write_shares(state, arrays, shares, layout, *file);
    file->sync();
  });
  mpi::on_root(comm, 0, [&] {
    whole->commit();
    return std::string();
  });
  return summed(parts, comm);
}

std::vector<std::uint64_t> read_arrays(State& state, const std::vector<FileArray>& arrays, const PartReader& reader,
                                       const mpi::Communicator& comm) {
  const std::vector<Box> shares = own_shares(state, arrays, Division::rows, comm);
  std::vector<std::uint64_t> parts(tensor_names(arrays).size(), 0);
  RowReader rows(state, reader);
  for (std::size_t a = 0, first = 0; a < arrays.size(); first += tensor_count(arrays[a]), ++a) {
    if (a == 0) rows.expect(arrays[a]);
    if (a + 1 < arrays.size()) rows.expect(arrays[a + 1]);
    if (!state.contains(arrays[a].state)) continue;
    set_from_rows(state, arrays[a], rows.read(arrays[a], shares[a], &parts[first]));
  }
  mpi::on_all(comm, [&] {
    if (rows.failure()) throw *rows.failure();
  });
  return summed(parts, comm);
}

}  // namespace shardline
