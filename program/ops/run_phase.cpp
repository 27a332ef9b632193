#include "program/ops/run_phase.h"

#include "runtime/base/check.h"

namespace shardline {

void run_phase(const Program& program, const Operation& op, std::size_t phase, const std::vector<Range>& ranges,
               const std::vector<const Tensor*>& operands, const std::vector<Tensor*>& results, bool continues) {
  const Phase& p = op.phases.at(phase);
  SHARDLINE_CHECK(operands.size() == p.operands.size() && results.size() == p.results.size(),
                  "{}: {} operands and {} results given to phase {}", op.kind, operands.size(), results.size(), phase);
  p.kernel->run({program, op, p, ranges, continues}, {operands, results});
}

kernels::Cost phase_cost(const Program& program, const Operation& op, std::size_t phase,
                         const std::vector<Range>& ranges) {
  const Phase& p = op.phases.at(phase);
  return p.kernel->cost({program, op, p, ranges});
}

}  // namespace shardline
