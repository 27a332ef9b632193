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
    in_file.push_back({array.name, array.dtype, array.in_file});
  }
  return safetensors_layout(in_file, metadata);
}

/// Writes a part of an array whose elements begin at `begin` of the file.
void write_part(const BlockFile& file, Index begin, const FileArray& array, const Box& part, const Tensor& block) {
  const Tensor stored = to_stored(block, array.input_dims);
  const Index item = size_of(array.dtype);
  for_each_strip(in_stored_order(array.shape, array.input_dims), in_stored_order(part, array.input_dims),
                 [&](Index to, Index from, Index count) {
                   file.write_at(begin + to * item, stored.data() + from * item,
                                 static_cast<std::size_t>(count * item));
                   file.start_writing(begin + to * item, count * item);
                 });
}

/// Writes this rank's share of an array, and returns its part of the digest.
std::uint64_t write_share(const FileArray& array, const Box& share, const Box& mine, const Tensor& held,
                          const BlockFile& file, Index begin) {
  std::uint64_t digest = 0;
  for_each_part(array, share, [&](const Box& part) {
    const Tensor block = held.slice(within(mine, part));
    digest += digest_of(array, part, block);
    write_part(file, begin, array, part, block);
  });
  return digest;
}

/// Collective over the mesh of the state: writes this rank's shares, and returns their part of the digests. A rank that
/// cannot write still takes part in the exchanges; then it throws ResultError.
std::vector<std::uint64_t> write_shares(const State& state, const std::vector<FileArray>& arrays,
                                        const std::vector<Box>& shares, const SafetensorsLayout& layout,
                                        const BlockFile& file) {
  std::vector<std::uint64_t> parts(arrays.size(), 0);
  std::optional<ResultError> failure;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const FileArray& array = arrays[a];
    if (!state.contains(array.state)) continue;
    const Tensor rows = own_block(state, array, Division::rows);
    SHARDLINE_CHECK(rows.dtype() == array.dtype, "{} is {} in the state and {} in the file", array.state,
                    name_of(rows.dtype()), name_of(array.dtype));
    if (shares[a].empty() || failure) continue;
    try {
      parts[a] = write_share(array, shares[a], own_box(state, array, Division::rows), rows, file, layout.offsets[a]);
    } catch (const ResultError& error) {
      failure = error;
    }
  }
  if (failure) throw *failure;
  return parts;
}

/// The elements of a part in our order, in the element type of the state.
Tensor read_part(const FileArray& array, const Box& part, DType dtype, const PartReader& reader) {
  Tensor stored =
      reader.read(array, in_stored_order(array.shape, array.input_dims), in_stored_order(part, array.input_dims));
  if (stored.dtype() != dtype) {
    stored = stored.as(dtype);
    if (!non_finite(stored).empty()) {
      throw ResultError(
          fmt::format("tensor {} holds numbers too large for {}; --dtype f64 may help", array.name, name_of(dtype)));
    }
  }
  return from_stored(stored, shape_of(part), array.input_dims);
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

/// This rank's rows of an array, and the digest of its share of them.
std::pair<Tensor, std::uint64_t> read_rows(const FileArray& array, const Box& mine, const Box& share, DType dtype,
                                           const PartReader& reader) {
  Tensor rows(dtype, shape_of(mine));
  std::uint64_t digest = 0;
  for_each_part(array, mine, [&](const Box& part) {
    const Tensor block = read_part(array, part, dtype, reader);
    const Box counted = common(part, share);
    if (!counted.empty()) digest += digest_of(array, counted, block.slice(within(part, counted)));
    rows.assign(within(mine, part), block);
  });
  return {rows, digest};
}

/// Reads arrays one after the other. After a failure it gives zeros, so that the ranks go on together.
class RowReader {
 public:
  RowReader(const State& state, const PartReader& reader) : state_(state), reader_(reader) {}

  void expect(const FileArray& array) const {
    if (!state_.contains(array.state)) return;
    const Box mine = own_box(state_, array, Division::rows);
    reader_.expect(array, in_stored_order(array.shape, array.input_dims), in_stored_order(mine, array.input_dims));
  }

  std::pair<Tensor, std::uint64_t> read(const FileArray& array, const Box& share) {
    const DType dtype = state_.array(array.state).dtype;
    const Box mine = own_box(state_, array, Division::rows);
    try {
      if (!failure_) return read_rows(array, mine, share, dtype, reader_);
    } catch (const ResultError& error) {
      failure_ = error;
    }
    return {Tensor::zeros(dtype, shape_of(mine)), 0};
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
  std::vector<std::uint64_t> parts(arrays.size(), 0);
  RowReader rows(state, reader);
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    if (a == 0) rows.expect(arrays[a]);
    if (a + 1 < arrays.size()) rows.expect(arrays[a + 1]);
    if (!state.contains(arrays[a].state)) continue;
    const auto [block, digest] = rows.read(arrays[a], shares[a]);
    parts[a] = digest;
    set_from_rows(state, arrays[a], block);
  }
  mpi::on_all(comm, [&] {
    if (rows.failure()) throw *rows.failure();
  });
  return summed(parts, comm);
}

}  // namespace shardline
