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
/// file appears whole or not at all. Returns the digests of the arrays. Throws on every rank: UsageError if the file
/// cannot be created, ResultError if it cannot be written.
std::vector<std::uint64_t> write_arrays(const State& state, const std::vector<FileArray>& arrays,
                                        const std::string& path, const std::map<std::string, std::string>& metadata,
                                        const mpi::Communicator& comm);

/// A part of an array of a file, in the file's order of dims and the file's element type.
using ReadPart = std::function<Tensor(const FileArray& array, const Shape& stored_dims, const Box& part)>;

/// Collective over `comm`, as own_shares(): reads this rank's blocks of those arrays that the state has, part by part.
/// Converts them to the element type of the state. Throws ResultError on every rank if `read` does on one, or a number
/// is too large for the type.
void read_arrays(State& state, const std::vector<FileArray>& arrays, const ReadPart& read,
                 const mpi::Communicator& comm);

}  // namespace shardline
