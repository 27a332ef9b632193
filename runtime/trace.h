#pragma once

#include <string>
#include <vector>

#include "runtime/base/units.h"

namespace shardline {

/// One timed operation on one rank. Times are of that rank's now(); what does not apply is zero or empty.
struct Span {
  std::string name{};
  std::string kind{};  ///< such as "matmul" or "all_gather"
  std::string axis{};  ///< mesh axes of a collective, as printed
  Bytes bytes{};       ///< memory or buffer bytes the operation touches
  Bytes wire_bytes{};  ///< bytes leaving the busiest rank in its busiest direction
  Flops flops{};
  Seconds predicted{};
  Seconds begin{};
  Seconds end{};
  Seconds exposed{};  ///< how long the rank really waited
};

/// The spans of one rank, in the order in which they were recorded.
class Trace {
 public:
  void record(Span span) { spans_.push_back(std::move(span)); }
  const std::vector<Span>& spans() const { return spans_; }
  void clear() { spans_.clear(); }

 private:
  std::vector<Span> spans_;
};

/// Time of this process's steady clock. Only differences mean anything, and only within one process.
Seconds now();

}  // namespace shardline
