#pragma once

#include <cstdint>
#include <functional>

#include "collectives/options.h"
#include "collectives/progress.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/units.h"
#include "runtime/tensor.h"

namespace shardline::collectives {

// Collective matmuls (section 10.1.2 of the book): a collective and a computation that feed each other, panel by panel,
// so that the links carry one panel while the cores make another. What is computed is the caller's: a callback that is
// given rows, a range of dim 0 of the array that is gathered or reduced. Between two panels the operations in flight on
// the engine are served, so that panels should take a few milliseconds at most. All of them go by messages: `native`
// and `direct` are refused by name, and `automatic` is what the engine's Tuning gives without an arena.

/// The order of the panels of a gather. Each row has exactly one panel in all three.
/// - `arrival`: whatever is there. For results of which every element comes from one panel alone;
/// - `schedule`: the own block, then the others in the order in which the schedule brings them: the same in every run,
///   but other panels in another order on every rank. For sums over panels that are needed on this rank alone;
/// - `coordinate`: ascending rows, in the same panels on every rank. For sums over panels whose result must have the
///   same bits on every rank.
enum class Order : std::uint8_t { arrival, schedule, coordinate };

/// Alike on every rank.
struct PanelOptions {
  /// Rows of the largest panel; panels of a block are near-equal. 0: a sixteenth of all rows, rounded up.
  Index panel_rows = 0;
  Order order = Order::schedule;  ///< of gather_and_compute()
  /// How the collective is carried out. `window` 0 takes as many segments as hold three panels, and at least kWindow;
  /// `fed` is of no account.
  Options collective{};
};

/// What one call did on this rank.
struct PanelReport {
  Algorithm algorithm = Algorithm::ring;  ///< what `automatic` was resolved to
  Wire wire = Wire::automatic;
  Index panels = 0;
  Index wire_bytes = 0;  ///< see Handle::wire_bytes()
  Seconds exposed{};     ///< how long the rank waited for messages, with nothing to compute
  Seconds transfer{};    ///< from the start of the collective to its end, computation included
};

/// Computes with, or makes, the rows [begin, end) of dim 0. What it throws ends the call.
using Compute = std::function<void(Range rows)>;

/// Collective over `axes`: gathers the blocks `in` along dim 0 into `out` as all_gather() does and calls
/// `compute(rows)` once for every row of `out`, in panels that lie within one position's block, each as soon as its
/// rows are there. With the axes Y over y ranks, the gathered array first:
///
///   out = AG_Y(in) W                | shapes on a rank                              | collective
///   forward Out = AG_Y(In[B_Y,D]) W | in [B/y,D], out [B,D]; W [D,F/y], Out [B,F/y] | gathers In, B free: any order
///   dgrad   dIn = dOut W^T          | dOut [B,F/y], W [D,F/y], dIn [B/y,D]          | compute_and_scatter() of
///   dIn[B,D] wgrad   dW = AG_Y(In)^T dOut    | in [B/y,D], dOut [B,F/y], dW [D,F/y]          | gathers In, B
///   contracted: panels
///                                   |                                               | of rows add up in dW
///   Out = A[B,D] AG_Y(W[D_Y,F])     | in [D/y,F], out [D,F]; A [B/y,D], Out [B/y,F] | gathers W, D contracted
///
/// A contracted dim: `schedule` where each element of the result is made on one rank, `coordinate` where it is
/// replicated. Throws what all_gather() throws, and UsageError on algorithms that send no messages.
PanelReport gather_and_compute(Engine& engine, const Axes& axes, const Tensor& in, Tensor& out,
                               const PanelOptions& options, const Compute& compute);

/// Collective over `axes`: calls `compute(rows)` once for every row of `partial`, which it fills, those first that the
/// schedule needs first, while reduce_scatter() along dim 0 takes them into `out`.
///
///   out = RS_Y(A W)                     | shapes on a rank                               | collective
///   forward Out[B_Y,F] = RS_Y(A[B,D_Y] W[D_Y,F]) | A [B,D/y], W [D/y,F], partial [B,F], out [B/y,F] | scatters Out
///   dgrad   dA[B,D_Y] = AG_Y(dOut[B_Y,F]) W^T    | dOut [B/y,F], gathered [B,F], dA [B,D/y]         |
///   gather_and_compute() wgrad   dW[D_Y,F] = A^T AG_Y(dOut[B_Y,F])    | the same gathered [B,F], dW [D/y,F] |
///   gather_and_compute(),
///                                                |                                                  | B contracted
///   data parallel dW[D_X,F] = RS_X(In[B_X,D]^T dOut[B_X,F]) | partial [D,F], out [D/x,F]            | scatters dW
///
/// Order of addition and errors are those of reduce_scatter(); UsageError on algorithms that send no messages.
PanelReport compute_and_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& partial, Tensor& out,
                                const PanelOptions& options, const Compute& compute);

/// Collective over `axes`: calls `compute(rows)` for panels of ascending rows of `partial`, which it fills, and
/// all-reduces each as soon as it is made into the same rows of `out`, which may be `partial` itself. Every panel is an
/// all_reduce of its own, so that its second half, the gather, also has later panels to hide behind.
///
///   out = AR_Y(A W)                            | shapes on a rank                                   | collective
///   forward Out[B,F] = AR_Y(A[B,D_Y] W[D_Y,F]) | A [B,D/y], W [D/y,F], partial and out [B,F]        | reduces Out
///   dgrad   dA[B,D_Y] = dOut[B,F] W^T          | dOut [B,F], W [D/y,F], dA [B,D/y]                  | none
///   wgrad   dW[D_Y,F] = A^T dOut[B,F]          | A [B,D/y], dOut [B,F], dW [D/y,F]                  | none
///   data parallel dW[D,F] = AR_X(In[B_X,D]^T dOut[B_X,F]) | partial and out [D,F]                   | reduces dW
///
/// In which order an element is added depends on its place in its panel, and so on `panel_rows`; all ranks have the
/// same bits. Errors are those of all_reduce(); UsageError on algorithms that send no messages.
PanelReport compute_and_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& partial, Tensor& out,
                               const PanelOptions& options, const Compute& compute);

}  // namespace shardline::collectives
