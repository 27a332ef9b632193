#include "tools/load_memory.h"

#include "models/checkpoint.h"

namespace shardline::tools {

Bytes require_memory_to_load(const Job& job, const std::string& folder) {
  const Bytes stored = checkpoint_bytes(job.world(), folder);
  constexpr double kOnTheWay = 2;  // the largest tensor is up to a fifth of all, and held up to five times
  job.require_memory(folder, {stored * kOnTheWay, Bytes(0)}, [](const auto&) {
    return "every rank holds the whole model, so fewer ranks on a node would fit";
  });
  return stored;
}

}  // namespace shardline::tools
