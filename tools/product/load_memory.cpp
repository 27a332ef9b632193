#include "tools/product/load_memory.h"

#include "models/checkpoint/checkpoint.h"

namespace shardline::tools {

Bytes require_memory_to_load(const Job& job, const std::string& folder) {
  const Bytes stored = checkpoint_bytes(job.world(), folder);
  constexpr double kOnTheWay = 2;  // up to five copies of a tensor at once; the largest is a fifth of all
  job.require_memory(folder, {.own = stored * kOnTheWay, .shared = Bytes(0)}, [](const auto&) {
    return "every rank holds the whole model, so fewer ranks on a node would fit";
  });
  return stored;
}

}  // namespace shardline::tools
