#include "models/planning/cache_reshard.h"

#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/price/wire.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// How a cache lies between runs of a phase.
const Sharding& layout_of(const GenerationPhase& phase, std::size_t cache) {
  const RankProgram& program = phase.compiled->program();
  return program.version(program.inputs.at(phase.model.cached.caches.at(cache))).sharding;
}

}  // namespace

CacheReshard cache_reshard(const GenerationPhase& prefill, const GenerationPhase& decode) {
  Program program;
  Declaration declaration;
  CacheReshard made;
  for (std::size_t i = 0; i < made.caches.size(); ++i) {
    const Array& from = prefill.model.program.array(prefill.model.cached.caches.at(i));
    const Array& to = decode.model.program.array(decode.model.cached.caches.at(i));
    SHARDLINE_CHECK(from.shape == to.shape && from.dtype == to.dtype, "prefill has {} {}, decode {} {}",
                    name_of(from.dtype), to_string(from), name_of(to.dtype), to_string(to));
    for (std::size_t d = 0; d < from.dims.size(); ++d) program.sizes[from.dims[d]] = from.shape[d];
    program.dtype = from.dtype;
    made.caches[i] = program.add_input(i == 0 ? "Kc" : "Vc", from.dims, Role::cache);
    program.outputs.push_back(made.caches[i]);
    declaration.layouts[made.caches[i]] = layout_of(prefill, i);
    declaration.wanted[made.caches[i]] = layout_of(decode, i);
  }
  RankProgram derived = partition(std::move(program), decode.compiled->program().mesh, declaration);
  check(derived);
  made.compiled = compile(std::move(derived), {});
  made.layers = static_cast<Index>(decode.model.cached.caches.size() / made.caches.size());
  return made;
}

Bytes CacheReshard::sent() const {
  const RankProgram& program = compiled->program();
  Bytes bytes;
  for (const Step& step : program.steps) {
    if (!communicates(step.kind)) continue;
    const Index element = size_of(program.array_of(step.operands[0]).dtype);
    bytes += Bytes(static_cast<double>(moved(program, step).sent * element * layers));
  }
  return bytes;
}

}  // namespace shardline
