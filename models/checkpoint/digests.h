#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/checkpoint/file_arrays.h"

namespace shardline {

/// The part of a block in the digest of its tensor: a sum modulo 2^64, so any cut into blocks gives the same whole.
/// Every element counts with its bits and its place. `box` lies in one tensor.
std::uint64_t digest_of(const FileArray& array, const Box& box, const Tensor& block);

/// Collective over `comm`, as own_shares(): the digest of every tensor, in the order of tensor_names(), equal on all
/// ranks and for every mesh. Digests show that bits differ, and are no protection against an attacker.
std::vector<std::uint64_t> digests(const State& state, const std::vector<FileArray>& arrays,
                                   const mpi::Communicator& comm);

/// Collective over `comm`: the sums over the ranks of digests in part, modulo 2^64.
std::vector<std::uint64_t> summed(const std::vector<std::uint64_t>& parts, const mpi::Communicator& comm);

/// A digest of all tensors of these digests, as 16 hexadecimal digits.
std::string digest_text(const std::vector<std::uint64_t>& digests);

/// Collective over `comm`, as own_shares(): 16 hexadecimal digits over the bits of all parameters of `model`. Meshes
/// whose parameters have equal bits have equal digits.
std::string weights_hash(const State& state, const Model& model, const mpi::Communicator& comm);

}  // namespace shardline
