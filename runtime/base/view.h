#pragma once

#include <cstddef>
#include <type_traits>

#include "runtime/base/shape.h"

namespace shardline {

/// A contiguous row-major array with another owner. `T` may be const. The pointer may be null if
/// the view is empty.
template <class T>
struct View {
  T* data = nullptr;
  Shape shape;

  Index size() const { return element_count(shape); }
  T& operator[](Index i) const { return data[i]; }
  T* begin() const { return data; }
  T* end() const { return data + size(); }
  // NOLINTNEXTLINE(google-explicit-constructor): a view converts to its read-only form.
  operator View<const T>() const requires(!std::is_const_v<T>) { return {data, shape}; }
};

}  // namespace shardline
