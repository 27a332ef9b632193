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

// Collective matmuls (section 10.1.2 of the book): a collective and a computation that feed each other, panel by panel,
// so that the links carry one panel while the cores make another. The caller computes in a callback, which gets a range
// of rows (dim 0) of the array that is gathered or reduced. Between two panels the engine is polled, so a panel should
// take a few milliseconds at most. All collectives go by messages: `native` and `direct` are refused by name, and
// `automatic` is the choice of the engine's Tuning without an arena.

/// The order of the panels of a gather. Each row has exactly one panel, and panels are cut alike in all three and on
/// every rank.
/// - `arrival`: whatever is there. For results of which every element comes from one panel alone;
/// - `schedule`: the own block, then the others in the order in which the schedule brings them: the same in every run,
///   but another one on every rank. For sums over panels that are needed on this rank alone;
/// - `coordinate`: ascending rows. For sums over panels whose result must have the same bits on every rank.
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
  Index wire_bytes = 0;                ///< see Handle::wire_bytes()
  std::vector<TimeRange> computing{};  ///< of each panel, in the order of time
  Seconds exposed{};  ///< of the call, all that was not computing: waiting for messages and serving them
  Seconds started{};  ///< when the collective, or the first of them, was started, by now()
  Seconds ended{};    ///< when the last was seen to have ended
};

/// Computes with, or makes, the rows [begin, end) of dim 0. What it throws ends the call.
using Compute = std::function<void(Range rows)>;

// The tables: a product and its derivatives (AG gathers, RS reduces and scatters, AR reduces), the shapes of what lies
// on a rank, and the collective in it. Axis Y has y ranks and X has x; B/y stands for the size of a rank's block.

// clang-format off
/// Collective over `axes`: gathers the blocks `in` along dim 0 into `out` as all_gather() does and calls
/// `compute(rows)` once for every row of `out`, in panels that lie within one position's block, each as soon as its
/// rows are there.
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
/// With the gathered dim contracted and a result that the ranks of `axes` replicate, `coordinate` in the place of
/// `schedule`. Throws what all_gather() throws, and UsageError on algorithms that send no messages.
PanelReport gather_and_compute(Engine& engine, const Axes& axes, const Tensor& in, Tensor& out,
                               const PanelOptions& options, const Compute& compute);

/// Collective over `axes`: calls `compute(rows)` once for every row of `partial`, which it fills, those first that the
/// schedule needs first, while reduce_scatter() along dim 0 takes them into `out`.
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
///                                                       gathered [B, F], dW [D/y, F]           contracted, likewise
///   wgrad    dW[D_X, F] = RS_X(In[B_X, D]^T dOut)       In [B/x, D], dOut [B/x, F],            scatters dW
///                                                       partial [D, F], out [D/x, F]
///
/// Order of addition and errors are those of reduce_scatter(); UsageError on algorithms that send no messages.
PanelReport compute_and_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& partial, Tensor& out,
                                const PanelOptions& options, const Compute& compute);

/// Collective over `axes`: calls `compute(rows)` for panels of ascending rows of `partial`, which it fills, and
/// all-reduces each as soon as it is made into the same rows of `out`, which may be `partial` itself. Every panel is an
/// all_reduce of its own, so that its second half, the gather, also has later panels to hide behind.
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
/// In which order an element is added depends on its place in its panel, and so on `panel_rows`; all ranks have the
/// same bits. Errors are those of all_reduce(); UsageError on algorithms that send no messages.
PanelReport compute_and_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& partial, Tensor& out,
                               const PanelOptions& options, const Compute& compute);
// clang-format on

}  // namespace shardline::collectives
