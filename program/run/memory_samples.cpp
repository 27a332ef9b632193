#include "program/run/memory_samples.h"

#include <functional>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "kernels/attention/cache_attention.h"
#include "program/ops/einsum.h"
#include "roofline/price/hardware.h"
#include "runtime/layout/tensor.h"

namespace shardline {
namespace {

/// A matrix [kPartColumns, kPartInner], stored so or transposed, or the keys or values [1, kCachePlaces, kCacheHeads,
/// kCacheWidth] of a cache.
constexpr Index kPartInner = 512, kPartColumns = 1024, kCachePlaces = 1024, kCacheHeads = 8, kCacheWidth = 64;
static_assert(kPartInner * kPartColumns == kCachePlaces * kCacheHeads * kCacheWidth);

/// Memory beyond the caches, taken part by part. All elements are zero.
class Parts {
 public:
  explicit Parts(DType dtype)
      : count_((Index{96} << 20) / (kPartInner * kPartColumns * size_of(dtype))),
        all_(Tensor::zeros(dtype, {count_, kPartInner * kPartColumns})) {}

  Index count() const { return count_; }
  Tensor take(const Shape& shape) {
    const Index part = next_++ % count_;
    return all_.rows({part, part + 1}).reshaped(shape);
  }

 private:
  Index count_, next_ = 0;
  Tensor all_;
};

std::function<void()> thin_product(const std::shared_ptr<Parts>& parts, DType dtype, Index rows, bool turned) {
  const auto a = std::make_shared<Tensor>(Tensor::zeros(dtype, {rows, kPartInner}));
  const auto c = std::make_shared<Tensor>(dtype, Shape{rows, kPartColumns});
  return [parts, a, c, turned] {
    const Tensor b = parts->take(turned ? Shape{kPartColumns, kPartInner} : Shape{kPartInner, kPartColumns});
    run_einsum({{a.get(), &b}, {{0, 2}, turned ? Subscripts{1, 2} : Subscripts{2, 1}}, c.get(), {0, 1}});
  };
}

struct AttentionArrays {
  Tensor q, o, at, where;
};

template <class T>
std::function<void()> attention(const std::shared_ptr<Parts>& parts, DType dtype, Index rows) {
  const Shape queries{1, 1, kCacheHeads, rows, kCacheWidth};
  const auto arrays = std::make_shared<AttentionArrays>(Tensor::zeros(dtype, queries), Tensor::zeros(dtype, queries),
                                                        Tensor(DType::i32, {1, 1}), Tensor(DType::i32, {kCachePlaces}));
  arrays->at.view<std::int32_t>()[0] = kCachePlaces - 1;
  const View<std::int32_t> where = arrays->where.view<std::int32_t>();
  std::iota(where.data, where.data + kCachePlaces, 0);
  return [parts, arrays] {
    const Shape shape{1, kCachePlaces, kCacheHeads, kCacheWidth};
    const Tensor k = parts->take(shape), v = parts->take(shape);
    const AttentionArrays& a = *arrays;
    kernels::cache_attention<T>(a.q.view<T>(), k.view<T>(), v.view<T>(),
                                {a.at.view<std::int32_t>(), a.where.view<std::int32_t>()}, arrays->o.view<T>());
  };
}

}  // namespace

std::vector<roofline::KernelSample> samples_from_memory(DType dtype) {
  const auto parts = std::make_shared<Parts>(dtype);
  std::vector<roofline::KernelSample> samples;
  const auto add = [&](std::string_view kernel, Index rows, Index elements, std::function<void()> run) {
    const kernels::Cost cost{.flops = Flops(2.0 * static_cast<double>(rows * elements)), .bytes = {}, .rows = rows};
    samples.push_back({roofline::from_memory(kernel, rows), cost, std::move(run)});
  };
  for (const Index rows : roofline::kRowsFromMemory) {
    add(roofline::kThinProduct, rows, kPartInner * kPartColumns, thin_product(parts, dtype, rows, false));
    add(roofline::kTurnedThinProduct, rows, kPartInner * kPartColumns, thin_product(parts, dtype, rows, true));
    add(roofline::kCacheAttention, rows, 2 * kCachePlaces * kCacheHeads * kCacheWidth,
        dtype == DType::bf16 ? attention<BFloat16>(parts, dtype, rows) : attention<float>(parts, dtype, rows));
  }
  // The caches hold no line then that is still to be written.
  for (Index i = 0; i < parts->count(); ++i) samples[0].run();
  return samples;
}

}  // namespace shardline
