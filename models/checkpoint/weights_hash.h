#pragma once

#include <string>

#include "models/architecture/model.h"
#include "program/run/state.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// Collective over `comm`: the mesh of `state`, or the ranks of all stages, each with a state of its own. 16
/// hexadecimal digits over the bits of all parameters of `model`, equal on all ranks. Meshes whose parameters have
/// equal bits have equal digits. Every element counts once, with its name and its place in the whole array; no rank
/// holds more than its blocks. It shows that weights differ, and is no protection against an attacker.
std::string weights_hash(const State& state, const Model& model, const mpi::Communicator& comm);

}  // namespace shardline
