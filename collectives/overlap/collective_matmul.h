#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/units.h"
#include "runtime/layout/tensor.h"
#include "runtime/trace/clock.h"

namespace shardline::collectives {

// Collective matmuls (book section 10.1.2): a collective and a computation feed each other, panel by panel. The
// links carry one panel while the cores make another. The caller computes in a callback. It gets a range of
// rows (dim 0) of the gathered or reduced array. The engine is polled between two panels, so a panel should
// take a few milliseconds at most. All collectives go by messages: `native` and `direct` throw, and `automatic`
// is the choice of the engine's Tuning without an arena.

/// The order of the panels of a gather. Each row has exactly one panel. All orders and all ranks cut the same
/// panels.
/// - `arrival`: any panel that has arrived. For results where every element comes from one panel alone;
/// - `schedule`: the own block, then the others in the order of the schedule. The same in every run, but
///   different on every rank. For sums over panels that only this rank needs;
/// - `coordinate`: ascending rows. For sums over panels whose result must have the same bits on every rank.
enum class Order : std::uint8_t { arrival, schedule, coordinate };

/// The same on every rank.
struct PanelOptions {
  /// Rows of the largest panel; panels of a block are near-equal. 0: a sixteenth of all rows, rounded up.
  Index panel_rows = 0;
  Order order = Order::schedule;  ///< of gather_and_compute()
  /// The options of the collective. `window` 0 takes as many segments as hold three panels, and at least
  /// kWindow. `fed` is ignored.
  Options collective{};
};

/// The record of one call on this rank.
struct PanelReport {
  Algorithm algorithm = Algorithm::ring;  ///< the resolved one, never `automatic`
  Wire wire = Wire::automatic;
  Index panels = 0;
  Index wire_bytes = 0;                ///< see Handle::wire_bytes()
  std::vector<TimeRange> computing{};  ///< of each panel, in the order of time
  Seconds exposed{};                   ///< all time of the call except computing: waiting for messages and serving them
  Seconds started{};                   ///< by now(): start of the first collective
  Seconds ended{};                     ///< the time at which the last was seen to end
};

/// Uses or makes the rows [begin, end) of dim 0. An exception from it ends the call.
using Compute = std::function<void(Range rows)>;

// The tables show a product and its derivatives (AG gathers, RS reduces and scatters, AR reduces), the local shapes,
// and the collective. Axis Y has y ranks and X has x ranks. B/y is the size of a rank's block.

// clang-format off
/// Collective over `axes`: gathers the blocks `in` along dim 0 into `out` as all_gather() does. Calls `compute(rows)`
/// for panels of `out`, each row once. A panel lies within one position's block, and is computed as soon as its rows
/// have arrived.
///
/// Column parallel, Out[B, F_Y] = In[B_Y, D] W[D, F_Y]:
///
///   pass     product                                    on a rank                              collective
///   -------  -----------------------------------------  -------------------------------------  ----------------------
///   forward  Out[B, F_Y] = AG_Y(In[B_Y, D]) W[D, F_Y]   in [B/y, D], out [B, D],               gathers In, B free:
///                                                       W [D, F/y], Out [B, F/y]               any order
///   dgrad    dIn[B_Y, D] = RS_Y(dOut[B, F_Y] W^T)       dOut [B, F/y], W [D, F/y],             scatters dIn, see
///                                                       partial [B, D], dIn [B/y, D]           compute_and_scatter()
///   wgrad    dW[D, F_Y] = AG_Y(In[B_Y, D])^T dOut       in [B/y, D], out [B, D],               gathers In, B
///                                                       dOut [B, F/y], dW [D, F/y]             contracted: `schedule`
///
/// A weight sharded over the data parallel axis, Out[B_X, F] = A[B_X, D] W[D_X, F]:
///
///   pass     product                                    on a rank                              collective
///   -------  -----------------------------------------  -------------------------------------  ----------------------
///   forward  Out[B_X, F] = A[B_X, D] AG_X(W[D_X, F])    in [D/x, F], out [D, F],               gathers W, D
///                                                       A [B/x, D], Out [B/x, F]               contracted: `schedule`
///   dgrad    dA[B_X, D] = dOut AG_X(W[D_X, F])^T        in [D/x, F], out [D, F],               gathers W, D free:
///                                                       dOut [B/x, F], dA [B/x, D]             any order
///   wgrad    dW[D_X, F] = RS_X(A[B_X, D]^T dOut)        A [B/x, D], dOut [B/x, F],             scatters dW, see
///                                                       partial [D, F], dW [D/x, F]            compute_and_scatter()
///
/// If the gathered dim is contracted and the ranks of `axes` replicate the result, use `coordinate` instead of
/// `schedule`. Throws as all_gather(), and UsageError on algorithms that send no messages.
PanelReport gather_and_compute(Engine& engine, const Axes& axes, const Tensor& in, Tensor& out,
                               const PanelOptions& options, const Compute& compute);

/// The panels of gather_and_compute() on this rank in the order in which it computes them, if `options` do not say
/// `arrival`. Starts nothing: a product can run in this order when `out` is there already.
std::vector<Range> gather_panels(const Engine& engine, const Axes& axes, const Tensor& out,
                                 const PanelOptions& options);

/// Collective over `axes`: calls `compute(rows)`, which fills each row of `partial` once. Rows that the schedule needs
/// first come first. At the same time reduce_scatter() along dim 0 reduces them into `out`.
///
/// Row parallel, Out[B_Y, F] = A[B, D_Y] W[D_Y, F], and a weight's gradient under data parallelism:
///
///   pass     product                                    on a rank                              collective
///   -------  -----------------------------------------  -------------------------------------  ----------------------
///   forward  Out[B_Y, F] = RS_Y(A[B, D_Y] W[D_Y, F])    A [B, D/y], W [D/y, F],                scatters Out
///                                                       partial [B, F], out [B/y, F]
///   dgrad    dA[B, D_Y] = AG_Y(dOut[B_Y, F]) W^T        dOut [B/y, F], gathered [B, F],        gathers dOut, B free,
///                                                       W [D/y, F], dA [B, D/y]                gather_and_compute()
///   wgrad    dW[D_Y, F] = A^T AG_Y(dOut[B_Y, F])        A [B, D/y], dOut [B/y, F],             gathers dOut, B
///                                                       gathered [B, F], dW [D/y, F]           contracted, as above
///   wgrad    dW[D_X, F] = RS_X(In[B_X, D]^T dOut)       In [B/x, D], dOut [B/x, F],            scatters dW
///                                                       partial [D, F], out [D/x, F]
///
/// Order of addition and errors are those of reduce_scatter(); UsageError on algorithms that send no messages.
PanelReport compute_and_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& partial, Tensor& out,
                                const PanelOptions& options, const Compute& compute);

/// Collective over `axes`: calls `compute(rows)`, which fills `partial` in panels of ascending rows. Each finished panel
/// has its own all_reduce into the same rows of `out`, which may be `partial` itself. So later panels also hide the
/// second half of an all_reduce, the gather.
///
/// Row parallel with a replicated result, Out[B, F] = A[B, D_Y] W[D_Y, F], and a weight's gradient under data
/// parallelism:
///
///   pass     product                                    on a rank                              collective
///   -------  -----------------------------------------  -------------------------------------  ----------------------
///   forward  Out[B, F] = AR_Y(A[B, D_Y] W[D_Y, F])      A [B, D/y], W [D/y, F],                reduces Out
///                                                       partial and out [B, F]
///   dgrad    dA[B, D_Y] = dOut[B, F] W[D_Y, F]^T        dOut [B, F], W [D/y, F],               none
///                                                       dA [B, D/y]
///   wgrad    dW[D_Y, F] = A[B, D_Y]^T dOut[B, F]        A [B, D/y], dOut [B, F],               none
///                                                       dW [D/y, F]
///   wgrad    dW[D, F] = AR_X(In[B_X, D]^T dOut)         In [B/x, D], dOut [B/x, F],            reduces dW
///                                                       partial and out [D, F]
///
/// The order of addition depends on the place of an element in its panel, and so on `panel_rows`. All ranks have the
/// same bits. Throws as all_reduce(), and UsageError on algorithms that send no messages.
PanelReport compute_and_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& partial, Tensor& out,
                               const PanelOptions& options, const Compute& compute);
// clang-format on

}  // namespace shardline::collectives
