#include "program/ops/silu_mul.h"

#include "program/ops/silu_gate.h"

namespace shardline {

ArrayId silu_mul(Program& program, const std::string& name, ArrayId g, ArrayId u) {
  return append_gated<SiluGate>(program, name, g, u);
}

OperationKind silu_mul_kind() { return gated_kind<SiluGate>(); }

}  // namespace shardline
