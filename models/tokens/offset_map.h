#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/tokens/pattern.h"

namespace shardline {

/// Where the parts of a rewritten text stood before. What lies between the parts was copied.
class OffsetMap {
 public:
  /// A part that was rewritten, in bytes.
  struct Part {
    Match before;
    Match after;
  };

  void clear() { parts_.clear(); }
  /// Appends a part. Parts come in order and do not overlap.
  void add(Part part) { parts_.push_back(part); }

  /// The place before of byte `after`. Empty within a rewritten part.
  std::optional<std::size_t> original(std::size_t after) const;

 private:
  std::vector<Part> parts_;
};

}  // namespace shardline
