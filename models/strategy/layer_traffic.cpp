#include "models/strategy/layer_traffic.h"

#include <numeric>

#include "models/strategy/strategies.h"
#include "program/price/wire.h"

namespace shardline {

Bytes total(const AxisBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), Bytes(0),
                         [](Bytes sum, const auto& entry) { return sum + entry.second; });
}

std::map<Pass, AxisBytes> pass_traffic(const RankProgram& program) {
  std::map<Pass, AxisBytes> passes;
  for (const Step& step : program.steps) {
    if (!communicates(step.kind)) continue;
    const Index item = size_of(program.array_of(step.operands[0]).dtype);
    const auto sent = static_cast<double>(moved(program, step).sent * item);
    const auto ranks = static_cast<double>(program.mesh.size(step.axes));
    passes[step.region.pass][step.axes] += Bytes(sent * ranks / (ranks - 1));
  }
  return passes;
}

std::map<Pass, AxisBytes> layer_traffic(const MlpSizes& sizes, const AbstractMesh& mesh, const std::string& strategy,
                                        const Policy& policy, DType dtype) {
  const Program program = make_mlp(sizes, dtype).program;
  const Declaration declaration = declare(program, mesh, parse_strategy(strategy, mesh), policy);
  return pass_traffic(partition(program, mesh, declaration));
}

}  // namespace shardline
