#pragma once

#include <cstdint>
#include <random>

#include "models/architecture/transformer.h"
#include "models/strategy/strategies.h"
#include "program/partition/partition.h"

namespace shardline {

/// Choices that depend only on a seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// Uniform in [least, most].
  Index between(Index least, Index most) {
    return least + static_cast<Index>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }
  /// True once in `n` times.
  bool once_in(Index n) { return between(1, n) == 1; }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items.at(static_cast<std::size_t>(between(0, static_cast<Index>(items.size()) - 1)));
  }

 private:
  std::mt19937_64 engine_;
};

/// One to three axes of 1 to 4, up to 12 ranks.
AbstractMesh random_mesh(Dice& dice);

/// A role for every axis of the mesh.
Strategy random_strategy(Dice& dice, const AbstractMesh& mesh);

Policy random_policy(Dice& dice);

/// Sizes from 1 upwards, not chosen to divide anything.
TransformerConfig random_config(Dice& dice);

/// A program and its layouts.
struct DeclaredProgram {
  Program program;
  Declaration declaration;
};

/// A chain of einsums, sums, products, activations and norms over random arrays. Half of the chains are
/// differentiated. Inputs, some results and everything that axes split by name have random layouts. Some inputs
/// are unreduced.
DeclaredProgram random_chain(Dice& dice, const AbstractMesh& mesh);

}  // namespace shardline
