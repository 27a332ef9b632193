#pragma once

#include <cstddef>
#include <memory>

#include "runtime/base/shape.h"

namespace shardline::collectives {

/// Memory for packing and partial sums. Runs give it back and later runs take it again, so a repeated
/// collective needs no fresh pages. Not thread-safe. Memory may outlive the pool.
class ScratchPool {
 public:
  ScratchPool();
  /// At least `bytes` bytes, aligned to 64, not initialised. The memory returns to the pool with its last
  /// owner. Null for 0 bytes.
  std::shared_ptr<std::byte> take(Index bytes);
  /// The most bytes kept for later. Memory beyond this is freed at once.
  static constexpr Index kRetainedBytes = Index{256} << 20;

 private:
  struct Shelf;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace shardline::collectives
