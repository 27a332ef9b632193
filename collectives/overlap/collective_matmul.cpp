#include "collectives/overlap/collective_matmul.h"

#include <algorithm>
#include <vector>

#include "collectives/all_gather.h"
#include "collectives/all_reduce.h"
#include "collectives/reduce_scatter.h"
#include "collectives/schedule/panels.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"
#include "runtime/trace/clock.h"

// Collective matmuls. A *panel* is a range of rows. While the cores compute one panel, the links carry another one.
// Here are 3 positions, each with one panel, seen on position 0. Time goes to the right.
//
// gather_and_compute: the own panel is ready at once, so its product hides the first messages:
//
//     links     | panel 2       | panel 1       |
//     cores     | multiply 0    | multiply 2    | multiply 1    |
//
// compute_and_scatter: the panels that the schedule sends first are made first. Below is a ring, in which position 0
// sends the sum of panel 2 and then that of panel 1, and keeps panel 0:
//
//     cores     | make 2        | make 1        | make 0        |
//     links                     | panel 2       | panel 1       |  + own panel 0
//
// compute_and_reduce: rows are made in ascending order, and each panel is an all_reduce of its own:
//
//     cores     | make 0        | make 1        | make 2        |
//     links                     | all_reduce 0  | all_reduce 1  | all_reduce 2  |
//
// MPI moves little by itself while a rank computes. So the engine is polled between two panels.

namespace shardline::collectives {
namespace {

Rows rows_of(const Engine& engine, const Axes& axes, const Tensor& whole, const PanelOptions& options) {
  require(!whole.shape().empty(), "a collective matmul of an array without dims; rows are those of dim 0");
  require(options.panel_rows >= 0, "panel_rows is {}; it is from 1, or 0 for a sixteenth of all rows",
          options.panel_rows);
  Rows rows{.count = whole.extent(0), .elements = 1};
  for (std::size_t d = 1; d < whole.shape().size(); ++d) rows.elements *= whole.shape()[d];
  constexpr Index kPanels = 16;
  rows.panel = options.panel_rows > 0 ? options.panel_rows : std::max<Index>(1, (rows.count + kPanels - 1) / kPanels);
  rows.blocks = nested_blocks(rows.count, engine.mesh().moving_group(axes).axes, engine.mesh().axes());
  return rows;
}

/// Options of a fed run, which goes by messages. Enough segments are in flight to keep a link busy until the
/// next poll, while the cores compute a panel.
Options piecewise(const Engine& engine, const Axes& axes, const Rows& rows, DType dtype, const PanelOptions& options) {
  Options result = options.collective;
  result.fed = true;
  if (result.window != 0) return result;
  const LinkKind link = engine.mesh().moving_group(axes).one_node ? LinkKind::node : LinkKind::network;
  const Index segment = result.segment_bytes != 0 ? result.segment_bytes : engine.tuning().segment_bytes(link);
  const Index in_flight = 3 * std::min(rows.panel, rows.count) * rows.elements * size_of(dtype);
  constexpr Index kWidest = 64;
  result.window = std::clamp(in_flight / std::max<Index>(segment, 1) + 1, kWindow, kWidest);
  return result;
}

/// Polls until nothing moves, because the next poll comes after a whole panel.
void serve() {
  while (poll_all()) {
  }
}

/// Measures the time of computing, and all other time of a call.
class Stopwatch {
 public:
  void compute(const Compute& compute, Range rows) {
    const Seconds begin = now();
    compute(rows);
    panels_.push_back({begin, now()});
    computing_ += panels_.back().end - begin;
  }
  /// Reports the times since the construction.
  void report(PanelReport& report) {
    report.exposed = now() - begin_ - computing_;
    report.computing = std::move(panels_);
  }

 private:
  Seconds begin_ = now();
  Seconds computing_;
  std::vector<TimeRange> panels_;
};

/// Waits for the end and records the facts of the collective.
void finish(Handle& handle, PanelReport& report) {
  handle.wait();
  report.ended = std::max(report.ended, handle.ended());
  report.algorithm = handle.algorithm();
  report.wire = handle.wire();
  report.wire_bytes += handle.wire_bytes();
}

}  // namespace

PanelReport gather_and_compute(Engine& engine, const Axes& axes, const Tensor& in, Tensor& out,
                               const PanelOptions& options, const Compute& compute) {
  Stopwatch watch;
  const Rows rows = rows_of(engine, axes, out, options);
  Handle handle = start_all_gather(engine, axes, in, 0, out, piecewise(engine, axes, rows, out.dtype(), options));
  handle.supply({0, in.size()});
  std::vector<Range> left =
      options.order == Order::coordinate ? panels(rows) : panels_as_completed(rows, handle.arrival_order());
  PanelReport report{.panels = static_cast<Index>(left.size()), .started = handle.started()};
  while (!left.empty()) {
    serve();
    const auto candidates = options.order == Order::arrival ? left.end() : left.begin() + 1;
    auto next = candidates;
    const auto find = [&] {
      next = std::find_if(left.begin(), candidates,
                          [&](const Range& panel) { return handle.arrived(rows.elements_of(panel)); });
      return next != candidates;
    };
    if (!find()) handle.wait_until(find);
    watch.compute(compute, *next);
    left.erase(next);
  }
  finish(handle, report);
  watch.report(report);
  return report;
}

std::vector<Range> gather_panels(const Engine& engine, const Axes& axes, const Tensor& out,
                                 const PanelOptions& options) {
  const Rows rows = rows_of(engine, axes, out, options);
  if (options.order == Order::coordinate) return panels(rows);
  return panels_as_completed(rows, gather_order(engine, axes, out, options.collective));
}

PanelReport compute_and_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& partial, Tensor& out,
                                const PanelOptions& options, const Compute& compute) {
  Stopwatch watch;
  const Rows rows = rows_of(engine, axes, partial, options);
  Handle handle =
      start_reduce_scatter(engine, axes, op, partial, 0, out, piecewise(engine, axes, rows, out.dtype(), options));
  const std::vector<Range> made = panels_as_touched(rows, handle.reading_order());
  PanelReport report{.panels = static_cast<Index>(made.size()), .started = handle.started()};
  for (const Range& panel : made) {
    watch.compute(compute, panel);
    handle.supply(rows.elements_of(panel));
    serve();
  }
  finish(handle, report);
  watch.report(report);
  return report;
}

PanelReport compute_and_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& partial, Tensor& out,
                               const PanelOptions& options, const Compute& compute) {
  Stopwatch watch;
  Rows rows = rows_of(engine, axes, partial, options);
  rows.blocks = {{0, rows.count}};  // one block, cut into panels; each panel has its own all_reduce
  const Options fed = piecewise(engine, axes, rows, out.dtype(), options);
  require(partial.shape() == out.shape(), "compute_and_reduce: partial is {}, out is {}; they must be equal",
          to_string(partial.shape()), to_string(out.shape()));
  const std::vector<Range> made = panels(rows);
  PanelReport report{.panels = static_cast<Index>(made.size())};
  std::vector<Handle> handles;
  for (const Range& panel : made) {
    watch.compute(compute, panel);
    Tensor result = out.rows(panel);
    handles.push_back(start_all_reduce(engine, axes, op, partial.rows(panel), result, fed));
    handles.back().supply({0, result.size()});
    serve();
  }
  report.started = handles.empty() ? now() : handles.front().started();
  report.ended = report.started;
  for (Handle& handle : handles) finish(handle, report);
  watch.report(report);
  return report;
}

}  // namespace shardline::collectives
