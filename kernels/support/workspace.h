#pragma once

#include <memory>

#include "runtime/base/shape.h"

namespace shardline::kernels {

/// Memory of a kernel between its calls. It grows to the largest that a call has used, as the system gives new memory
/// slowly.
template <class T>
class Workspace {
 public:
  /// Room for `count` elements, whose values are not known.
  T* room(Index count) {
    if (size_ < count) {
      memory_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
      size_ = count;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<T[]> memory_;
  Index size_ = 0;
};

}  // namespace shardline::kernels
