#include "models/checkpoint/digests.h"

#include <fmt/format.h>

#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace shardline {
namespace {

/// Spreads every bit over the whole word (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

/// Odd, so that an element which changes always changes its product with the weight.
std::vector<std::uint64_t> column_weights(const Range& columns) {
  std::vector<std::uint64_t> weights;
  for (Index c = columns.begin; c < columns.end; ++c) weights.push_back(mixed(static_cast<std::uint64_t>(c) + 1) << 1);
  return weights;
}

template <class Word>
std::uint64_t row_sum(const std::byte* row, std::uint64_t weight, const std::vector<std::uint64_t>& columns) {
  std::uint64_t sum = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    Word bits = 0;
    std::memcpy(&bits, row + c * sizeof(Word), sizeof(Word));
    sum += static_cast<std::uint64_t>(bits) * (weight ^ columns[c]);
  }
  return sum;
}

std::uint64_t row_sum_of(DType dtype, const std::byte* row, std::uint64_t weight,
                         const std::vector<std::uint64_t>& columns) {
  switch (size_of(dtype)) {
    case 2:
      return row_sum<std::uint16_t>(row, weight, columns);
    case 4:
      return row_sum<std::uint32_t>(row, weight, columns);
    case 8:
      return row_sum<std::uint64_t>(row, weight, columns);
    default:
      throw Error(fmt::format("no digest of {}", name_of(dtype)));
  }
}

/// Numbers of the rows of a block in the whole array, in order. A row is one index of all dims but the last.
class Rows {
 public:
  Rows(const Shape& whole, const Box& box) : whole_(whole), box_(box) {
    for (const Range& range : box) at_.push_back(range.begin);
  }

  Index count() const {
    Index count = 1;
    for (std::size_t d = 0; d + 1 < box_.size(); ++d) count *= box_[d].size();
    return count;
  }

  std::uint64_t next() {
    std::uint64_t row = 0;
    for (std::size_t d = 0; d + 1 < at_.size(); ++d) {
      row = row * static_cast<std::uint64_t>(whole_[d]) + static_cast<std::uint64_t>(at_[d]);
    }
    for (std::size_t d = at_.size() - 1; d-- > 0;) {
      if (++at_[d] < box_[d].end) break;
      at_[d] = box_[d].begin;
    }
    return row;
  }

 private:
  const Shape& whole_;
  const Box& box_;
  std::vector<Index> at_;
};

}  // namespace

std::uint64_t digest_of(const FileArray& array, const Box& box, const Tensor& block) {
  if (block.size() == 0) return 0;
  const std::vector<std::uint64_t> columns = column_weights(box.back());
  const std::uint64_t name = hash_of(tensor_name(array, tensor_of(array, box)));
  const Index bytes = box.back().size() * size_of(array.dtype);
  const Shape whole = of_tensor(array, array.shape);
  const Box in_tensor = of_tensor(array, box);
  Rows rows(whole, in_tensor);
  std::uint64_t sum = 0;
  for (Index r = 0; r < rows.count(); ++r) {
    sum += row_sum_of(array.dtype, block.data() + r * bytes, mixed(name + rows.next()) | 1, columns);
  }
  return sum;
}

std::vector<std::uint64_t> summed(const std::vector<std::uint64_t>& parts, const mpi::Communicator& comm) {
  std::vector<std::uint64_t> sums(parts.size(), 0);
  const std::string own(reinterpret_cast<const char*>(parts.data()), parts.size() * sizeof(std::uint64_t));
  for (const std::string& each : comm.all_gather_bytes(own)) {
    std::vector<std::uint64_t> of_rank(parts.size());
    std::memcpy(of_rank.data(), each.data(), each.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of_rank[i];
  }
  return sums;
}

std::vector<std::uint64_t> digests(const State& state, const std::vector<FileArray>& arrays,
                                   const mpi::Communicator& comm) {
  const std::vector<Box> shares = own_shares(state, arrays, Division::held, comm);
  std::vector<std::uint64_t> parts(tensor_names(arrays).size(), 0);
  for (std::size_t a = 0, first = 0; a < arrays.size(); first += tensor_count(arrays[a]), ++a) {
    if (shares[a].empty()) continue;
    const Box mine = own_box(state, arrays[a], Division::held);
    for_each_part(arrays[a], shares[a], [&](const Box& part) {
      parts[first + tensor_of(arrays[a], part)] +=
          digest_of(arrays[a], part, state.block(arrays[a].state).slice(within(mine, part)));
    });
  }
  return summed(parts, comm);
}

std::string digest_text(const std::vector<std::uint64_t>& digests) {
  std::uint64_t whole = 0;
  for (const std::uint64_t digest : digests) whole = mixed(whole + digest);
  return fmt::format("{:016x}", whole);
}

std::string weights_hash(const State& state, const Model& model, const mpi::Communicator& comm) {
  return digest_text(digests(state, parameters_of(model), comm));
}

}  // namespace shardline
