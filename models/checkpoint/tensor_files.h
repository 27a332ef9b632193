#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/checkpoint/file_arrays.h"

namespace shardline {

/// Collective over `comm`, as own_shares(): writes the arrays into a new safetensors file in stored form. Every rank
/// writes its own shares, so all must see the folder, and no rank holds more than a few MiB besides its blocks. The
/// file appears whole or not at all. Returns the digests of the tensors (see digests.h). Throws on every rank:
/// UsageError if the file cannot be created, ResultError if it cannot be written.
std::vector<std::uint64_t> write_arrays(const State& state, const std::vector<FileArray>& arrays,
                                        const std::string& path, const std::map<std::string, std::string>& metadata,
                                        const mpi::Communicator& comm);

/// Where the elements of tensors come from.
struct PartReader {
  /// The elements, in the type of the file.
  std::function<Tensor(const TensorPart& part)> read;
  /// Says that the part will be read soon, so that the disk can begin.
  std::function<void(const TensorPart& part)> expect;
};

/// Collective over `comm`, as own_shares(): reads this rank's blocks of those arrays that the state has, part by part.
/// Converts them to the element type of the state. Returns the digests of the tensors as they are now. Throws
/// ResultError on every rank if the reader does on one, or a number is too large for the type.
std::vector<std::uint64_t> read_arrays(State& state, const std::vector<FileArray>& arrays, const PartReader& reader,
                                       const mpi::Communicator& comm);

}  // namespace shardline
