#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/data/byte_data.h"
#include "models/parity/fault.h"
#include "models/parity/layout.h"
#include "models/training/training.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// The largest relative difference that parity allows, in f64.
constexpr double kParityTolerance = 1e-10;

/// The model of parity. Nothing up to 4 ranks divides its sizes: 5 key-value heads of 5 queries, D 19, F 23, V 257.
/// With experts, each token passes 2 of 5, or 2 of 3.
TransformerConfig parity_config(ParityTask task);
/// Its options in elements of `dtype`: 8 sequences of 7 tokens, clipping in every step.
TrainingOptions parity_options(DType dtype, Index steps);
/// Its text, made by a rule.
ByteData parity_data();

/// A training run of a few steps, and its evaluation afterwards.
struct ParityRun {
  std::vector<StepResult> steps;
  double validation = 0;                ///< loss on held-out text
  std::map<std::string, Tensor> state;  ///< parameters and both moments, by name: whole arrays
};

/// The runs of one rank alone, which every layout of their task must give. Collective over all ranks of the job; each
/// makes them for itself.
std::map<ParityTask, ParityRun> parity_references();

/// The distance of a layout from the reference. Loss and norm are relative to the reference. Arrays are relative to the
/// largest magnitude of the reference array. Infinity: not a number.
struct ParityDifference {
  double loss = 0;        ///< of all steps and of the evaluation
  double gradient = 0;    ///< of the moments of gradients, which are their means
  double norm = 0;        ///< of the gradient, before clipping, in all steps
  double weight = 0;      ///< of the parameters after the last step
  bool same_bits = true;  ///< as plain_layout(), if there is one
  bool planted = false;   ///< the layout had a place for the fault

  bool passes() const;
};

/// Collective over `comm`, which has as many ranks as the mesh of `layout`: trains under the layout, with a fault or
/// none, and compares each rank's blocks with the reference. Its first ranks also train the plain layout, if there is
/// one, and all compare bits with it. `reference` is that of its task. The same on all ranks.
ParityDifference compare_with_reference(const mpi::Communicator& comm, const ParityLayout& layout,
                                        const ParityRun& reference, const Fault* fault = nullptr);

}  // namespace shardline
