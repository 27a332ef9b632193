#include "runtime/layout/tensor.h"

#include <atomic>
#include <cstring>
#include <memory_resource>
#include <type_traits>

#include "runtime/host/large_pages.h"
#include "runtime/layout/block_strips.h"

namespace shardline {
namespace {

constexpr std::size_t kAlignment = 64;

std::atomic<Index> bytes_now{0};
std::atomic<Index> bytes_peak{0};

void count(Index bytes) {
  const Index now = bytes_now.fetch_add(bytes) + bytes;
  Index peak = bytes_peak.load();
  while (peak < now && !bytes_peak.compare_exchange_weak(peak, now)) {
  }
}

/// Memory from operator new, in large pages if the system has them.
class LargePages final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const memory = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    prefer_large_pages(memory, bytes);
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

/// Keeps the memory of small tensors for the next ones: a program makes and frees them at every step. It outlives all
/// tensors.
std::pmr::memory_resource& memory_pool() {
  constexpr std::size_t kLargest = std::size_t{64} << 10;
  static auto* pool = new std::pmr::synchronized_pool_resource(
      {.max_blocks_per_chunk = 16, .largest_required_pool_block = kLargest}, new LargePages);
  return *pool;
}

std::shared_ptr<std::byte> allocate(Index bytes) {
  if (bytes == 0) return nullptr;
  // The pool of libstdc++ aligns a block only to the size that was asked for.
  const std::size_t size = (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  auto* memory = static_cast<std::byte*>(memory_pool().allocate(size, kAlignment));
  count(bytes);
  return {memory, [bytes, size](std::byte* p) {
            memory_pool().deallocate(p, size, kAlignment);
            bytes_now -= bytes;
          }};
}

Shape extents(const Shape& whole, const std::vector<Range>& ranges) {
  SHARDLINE_CHECK(whole.size() == ranges.size(), "{} ranges for shape {}", ranges.size(), to_string(whole));
  Shape shape;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    SHARDLINE_CHECK(ranges[d].begin >= 0 && ranges[d].begin <= ranges[d].end && ranges[d].end <= whole[d],
                    "range [{}, {}) of dim {} is not inside shape {}", ranges[d].begin, ranges[d].end, d,
                    to_string(whole));
    shape.push_back(ranges[d].size());
  }
  return shape;
}

template <class To, class From>
To rounded(From value) {
  if constexpr (std::is_same_v<From, BFloat16>) {
    return rounded<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class To, class From>
void convert_elements(View<const From> from, View<To> to) {
  const Index size = from.size();
  for (Index i = 0; i < size; ++i) to.data[i] = rounded<To>(from.data[i]);
}

/// Calls `body` with a value of the C++ type of `dtype`.
template <class Body>
void with_floating(DType dtype, Body body) {
  switch (dtype) {
    case DType::f32:
      return body(float());
    case DType::f64:
      return body(double());
    case DType::bf16:
      return body(BFloat16());
    case DType::i32:
    case DType::i64:
    case DType::int8:
      throw Error("integers do not convert, and nothing converts to integers");
  }
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)), size_(element_count(shape_)) {
  storage_ = allocate(bytes());
}

Tensor::Tensor(DType dtype, Shape shape, std::shared_ptr<std::byte> memory)
    : dtype_(dtype), shape_(std::move(shape)), size_(element_count(shape_)), storage_(std::move(memory)) {
  SHARDLINE_CHECK(storage_ != nullptr || size_ == 0, "a tensor of {} elements over no memory", size_);
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor result(dtype, std::move(shape));
  if (result.size() > 0) std::memset(result.data(), 0, static_cast<std::size_t>(result.bytes()));
  return result;
}

Tensor Tensor::reshaped(Shape shape) const {
  SHARDLINE_CHECK(element_count(shape) == size_, "shape {} does not hold the {} elements of {}", to_string(shape),
                  size_, to_string(shape_));
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

Tensor Tensor::rows(Range range) const {
  SHARDLINE_CHECK(!shape_.empty() && 0 <= range.begin && range.begin <= range.end && range.end <= shape_[0],
                  "rows [{}, {}) of a tensor of shape {}", range.begin, range.end, to_string(shape_));
  Tensor result = *this;
  result.shape_[0] = range.size();
  result.size_ = element_count(result.shape_);
  if (storage_ == nullptr) return result;
  const Index row = shape_[0] > 0 ? bytes() / shape_[0] : 0;
  result.storage_ = {storage_, storage_.get() + range.begin * row};
  return result;
}

Tensor Tensor::clone() const {
  Tensor result(dtype_, shape_);
  if (size_ > 0) std::memcpy(result.data(), data(), static_cast<std::size_t>(bytes()));
  return result;
}

Tensor Tensor::as(DType dtype) const {
  if (dtype == dtype_) return clone();
  Tensor result(dtype, shape_);
  convert(*this, result);
  return result;
}

void convert(const Tensor& from, Tensor& to) {
  SHARDLINE_CHECK(from.size() == to.size(), "{} elements do not convert into {}", from.size(), to.size());
  with_floating(from.dtype(), [&](auto read) {
    with_floating(to.dtype(),
                  [&](auto write) { convert_elements(from.view<decltype(read)>(), to.view<decltype(write)>()); });
  });
}

Tensor Tensor::slice(const std::vector<Range>& ranges) const {
  Tensor result(dtype_, extents(shape_, ranges));
  const Index item = size_of(dtype_);
  for_each_strip(shape_, ranges, [&](Index whole, Index part, Index count) {
    std::memcpy(result.data() + part * item, data() + whole * item, static_cast<std::size_t>(count * item));
  });
  return result;
}

void Tensor::assign(const std::vector<Range>& ranges, const Tensor& block) {
  SHARDLINE_CHECK(block.dtype() == dtype_ && block.shape() == extents(shape_, ranges),
                  "a block of {} {} assigned to ranges of shape {} in a tensor of {} {}", name_of(block.dtype()),
                  to_string(block.shape()), to_string(extents(shape_, ranges)), name_of(dtype_), to_string(shape_));
  const Index item = size_of(dtype_);
  for_each_strip(shape_, ranges, [&](Index whole, Index part, Index count) {
    std::memcpy(data() + whole * item, block.data() + part * item, static_cast<std::size_t>(count * item));
  });
}

std::shared_ptr<std::byte> counted(std::shared_ptr<std::byte> memory, Index bytes) {
  count(bytes);
  std::byte* data = memory.get();
  return {data, [memory = std::move(memory), bytes](std::byte*) { bytes_now -= bytes; }};
}

TensorMemory tensor_memory() { return {bytes_now.load(), bytes_peak.load()}; }

void reset_tensor_peak() { bytes_peak = bytes_now.load(); }

}  // namespace shardline
