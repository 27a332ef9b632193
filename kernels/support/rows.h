#pragma once

#include "runtime/base/shape.h"

namespace shardline::kernels {

/// An array seen as [rows, columns]: the last dim gives the columns, all dims before it the rows.
struct Rows {
  Index rows = 0;
  Index columns = 0;
};

/// Throws Error for a scalar; `kernel` names the caller in the message.
Rows as_rows(const char* kernel, const Shape& shape);

/// Throws Error unless the array `name` of `kernel` has `expected` elements.
void check_elements(const char* kernel, const char* name, const Shape& shape, Index expected);

}  // namespace shardline::kernels
