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
/// `biases`: of queries, keys and values.
TransformerConfig parity_config(bool tied, bool biases = false);
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

/// The runs of one rank alone that layouts must give.
class ParityReferences {
 public:
  /// Collective over all ranks of the job; each makes the runs for itself.
  ParityReferences();

  /// The run of the model of `layout`.
  const ParityRun& of(const ParityLayout& layout) const { return runs_.at({layout.tied, layout.biases}); }
  /// All runs, by `tied` and `biases` of their model.
  const std::map<std::pair<bool, bool>, ParityRun>& all() const { return runs_; }

 private:
  std::map<std::pair<bool, bool>, ParityRun> runs_;
};

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
/// one, and all compare bits with it. The same on all ranks.
ParityDifference compare_with_reference(const mpi::Communicator& comm, const ParityLayout& layout,
                                        const ParityRun& reference, const Fault* fault = nullptr);

}  // namespace shardline
