#include "program/run/panel_run.h"

#include <algorithm>

#include "program/ops/einsum.h"
#include "program/ops/run_phase.h"
#include "roofline/price/panel_cost.h"
#include "runtime/trace/clock.h"

namespace shardline {

TimeRange poll() {
  const Seconds begin = now();
  collectives::poll_all();
  return {begin, now()};
}

std::vector<TimeRange> run_panels(const Program& program, const Operation& op, std::size_t phase,
                                  const std::vector<Range>& rank_0, Flops panel,
                                  const std::vector<const Tensor*>& operands, Tensor& result) {
  const Phase& einsum = op.phases[phase];
  const EinsumCall call{operands, einsum.operand_subscripts, &result, einsum.result_subscripts[0]};
  const Subscripts& dims = call.result_subscripts;
  if (dims.empty()) {
    run_einsum(call);
    return {};
  }
  const auto rows_of = [&](int index) { return rank_0[static_cast<std::size_t>(index)].size(); };
  // The outermost dim with more than one row. So panels are contiguous parts of the result, and
  // their products have many rows.
  const auto outer = std::find_if(dims.begin(), dims.end(), [&](int index) { return rows_of(index) > 1; });
  if (outer == dims.end()) {
    run_einsum(call);
    return {};
  }
  const kernels::Cost cost = phase_cost(program, op, phase, rank_0);
  const Index rows = roofline::panel_rows(panel, cost.flops, rows_of(*outer));
  if (rows >= rows_of(*outer)) {  // one panel
    run_einsum(call);
    return {};
  }
  const Index extent = result.extent(static_cast<int>(outer - dims.begin()));
  kernels::KeptOperands kept;
  std::vector<TimeRange> polls;
  for (Index begin = 0; begin < extent || begin == 0; begin += rows) {
    if (begin > 0) polls.push_back(poll());
    run_einsum(call, kernels::Window{*outer, {begin, std::min(begin + rows, extent)}}, &kept);
  }
  return polls;
}

}  // namespace shardline
