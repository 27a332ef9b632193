#include "kernels/support/rows.h"

#include "runtime/base/check.h"

namespace shardline::kernels {

Rows as_rows(const char* kernel, const Shape& shape) {
  SHARDLINE_CHECK(!shape.empty(), "{}: a scalar was given, an array with at least one dim is needed", kernel);
  return {element_count(Shape(shape.begin(), shape.end() - 1)), shape.back()};
}

void check_elements(const char* kernel, const char* name, const Shape& shape, Index expected) {
  SHARDLINE_CHECK(element_count(shape) == expected, "{}: {} has shape {}, which is not {} elements", kernel, name,
                  to_string(shape), expected);
}

}  // namespace shardline::kernels
