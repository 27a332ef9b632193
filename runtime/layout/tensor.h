#pragma once

#include <cstddef>
#include <memory>

#include "runtime/base/check.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

namespace shardline {

/// A contiguous row-major array in this rank's memory. A copy shares the storage, so an operation
/// in flight can co-own its buffers; clone() copies the elements. Storage is aligned to 64 bytes
/// and not initialised.
class Tensor {
 public:
  /// No storage, shape [0].
  Tensor() = default;
  /// Throws Error if the shape is illegal, std::bad_alloc if memory is short.
  Tensor(DType dtype, Shape shape);
  /// Elements in `memory`, which must be large enough and live as long as any Tensor over it. An
  /// aliasing or non-owning pointer lends the caller's memory. tensor_memory() does not count it.
  Tensor(DType dtype, Shape shape, std::shared_ptr<std::byte> memory);
  static Tensor zeros(DType dtype, Shape shape);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  Index extent(int dim) const { return shape_.at(static_cast<std::size_t>(dim)); }
  Index size() const { return size_; }
  Index bytes() const { return size_ * size_of(dtype_); }

  std::byte* data() { return storage_.get(); }
  const std::byte* data() const { return storage_.get(); }
  /// The owner of the elements.
  std::shared_ptr<const std::byte> memory() const { return storage_; }
  std::shared_ptr<std::byte> memory() { return storage_; }
  /// Typed access. Throws Error if T is not the element type.
  template <class T>
  View<T> view() {
    check_type(kDTypeOf<T>);
    return {reinterpret_cast<T*>(storage_.get()), shape_};
  }
  template <class T>
  View<const T> view() const {
    check_type(kDTypeOf<T>);
    return {reinterpret_cast<const T*>(storage_.get()), shape_};
  }

  /// The same elements under another shape of equal size; shares the storage.
  Tensor reshaped(Shape shape) const;
  /// Rows [begin, end) of dim 0; shares the storage. Throws Error if the tensor is a scalar or
  /// lacks these rows.
  Tensor rows(Range range) const;
  Tensor clone() const;
  /// A copy with another element type, see convert().
  Tensor as(DType dtype) const;
  /// A copy of the block given by one range per dim.
  Tensor slice(const std::vector<Range>& ranges) const;
  /// Copies `block` into the place given by one range per dim.
  void assign(const std::vector<Range>& ranges, const Tensor& block);

 private:
  void check_type(DType wanted) const {
    SHARDLINE_CHECK(dtype_ == wanted, "a tensor of {} viewed as {}", name_of(dtype_), name_of(wanted));
  }

  DType dtype_ = DType::f32;
  Shape shape_{0};
  Index size_ = 0;
  std::shared_ptr<std::byte> storage_;
};

/// Writes the elements of `from` into `to`, rounded to nearest, ties to even. f64 reaches bf16 through f32. Throws
/// Error when the numbers of elements differ, and for integers.
void convert(const Tensor& from, Tensor& to);

/// `memory`, counted as `bytes` of tensors until its last copy goes.
std::shared_ptr<std::byte> counted(std::shared_ptr<std::byte> memory, Index bytes);

/// Bytes of all tensors of this process. Memory of the caller counts only if it is counted().
struct TensorMemory {
  Index now = 0;
  Index peak = 0;  ///< since the start or the last reset_tensor_peak()
};

TensorMemory tensor_memory();
void reset_tensor_peak();

}  // namespace shardline
