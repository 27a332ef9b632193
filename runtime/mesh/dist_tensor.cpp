#include "runtime/mesh/dist_tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/base/check.h"
#include "runtime/base/with_type.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

ArraySpec validated(ArraySpec spec, const AbstractMesh& mesh) {
  require(spec.shape.size() == spec.dims.size(), "array {} has {} dims and shape {}", spec.name, spec.dims.size(),
          to_string(spec.shape));
  spec.sharding = validated(std::move(spec.sharding), spec.name, spec.dims, mesh);
  return spec;
}

/// The neutral element of `op`.
template <class T>
T neutral(ReduceOp op) {
  if (op == ReduceOp::sum) return T{};
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return from_double<T>(-std::numeric_limits<double>::infinity());
  }
}

/// Calls body(index in the block, row-major index in the whole) for every element of the block
/// `ranges` of `shape`.
template <class Body>
void for_each_element(const Shape& shape, const std::vector<Range>& ranges, Body body) {
  Index count = 1;
  for (const Range& range : ranges) count *= range.size();
  for (Index i = 0; i < count; ++i) {
    Index rest = i;
    Index stride = 1;
    Index whole = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      whole += (ranges[d].begin + rest % ranges[d].size()) * stride;
      rest /= ranges[d].size();
      stride *= shape[d];
    }
    body(i, whole);
  }
}

template <class T>
void fill(Tensor& local, const ArraySpec& spec, const std::vector<Range>& ranges, const DistTensor::Element& element) {
  const View<T> out = local.view<T>();
  for_each_element(spec.shape, ranges, [&](Index i, Index whole) { out[i] = from_double<T>(element(whole)); });
}

template <class T>
void reduce_into(Tensor& sum, const Tensor& part, ReduceOp op) {
  const View<T> out = sum.view<T>();
  const View<const T> in = part.view<T>();
  for (Index i = 0; i < sum.size(); ++i) out[i] = op == ReduceOp::sum ? out[i] + in[i] : std::max(out[i], in[i]);
}

void reduce_into(Tensor& sum, const Tensor& part, ReduceOp op) {
  switch (sum.dtype()) {
    case DType::f32:
      return reduce_into<float>(sum, part, op);
    case DType::f64:
      return reduce_into<double>(sum, part, op);
    case DType::i32:
      return reduce_into<std::int32_t>(sum, part, op);
    case DType::i64:
      return reduce_into<std::int64_t>(sum, part, op);
    case DType::bf16:
    case DType::int8:
      break;
  }
  throw Error(fmt::format("sums are not taken in {}", name_of(sum.dtype())));
}

/// The lowest rank that holds a replica of the block at `coordinates`.
Index first_replica(Coordinates coordinates, const Sharding& sharding, const AbstractMesh& mesh) {
  for (const Axis& axis : mesh.axes()) {
    if (!sharding.uses(axis)) coordinates[mesh.position(axis)] = 0;
  }
  return mesh.rank(coordinates);
}

}  // namespace

DistTensor::DistTensor(const Mesh& mesh, ArraySpec spec, Tensor local)
    : mesh_(&mesh), spec_(std::move(spec)), local_(std::move(local)) {}

DistTensor DistTensor::make(const Mesh& mesh, ArraySpec spec, const Element& element) {
  spec = validated(std::move(spec), mesh.axes());
  Tensor local(spec.dtype, local_shape(spec.shape, spec.sharding, mesh.axes(), mesh.rank()));
  const std::vector<Range> ranges = box(spec.shape, spec.sharding, mesh.axes(), mesh.rank());
  const bool holds = mesh.axes().position_in_group(mesh.rank(), spec.sharding.unreduced) == 0;
  with_type(spec.dtype, [&]<class T>(T) {
    if (holds) return fill<T>(local, spec, ranges, element);
    const View<T> out = local.view<T>();
    std::fill(out.begin(), out.end(), neutral<T>(spec.sharding.reduce));
  });
  return {mesh, std::move(spec), std::move(local)};
}

DistTensor DistTensor::from_local(const Mesh& mesh, ArraySpec spec, Tensor local) {
  spec = validated(std::move(spec), mesh.axes());
  const Shape expected = local_shape(spec.shape, spec.sharding, mesh.axes(), mesh.rank());
  DistTensor result(mesh, std::move(spec), std::move(local));
  SHARDLINE_CHECK(result.local_.dtype() == result.spec_.dtype && result.local_.shape() == expected,
                  "array {} of {} {} on mesh {}: rank {} gives a block of {} {}, it holds {}", result.to_string(),
                  name_of(result.spec_.dtype), shardline::to_string(result.spec_.shape), mesh.axes().to_string(),
                  mesh.rank(), name_of(result.local_.dtype()), shardline::to_string(result.local_.shape()),
                  shardline::to_string(expected));
  return result;
}

Tensor DistTensor::gather() const {
  const AbstractMesh& axes = mesh_->axes();
  const auto* bytes = reinterpret_cast<const char*>(local_.data());
  const std::vector<std::string> parts = mesh_->comm().all_gather_bytes(
      local_.size() == 0 ? "" : std::string(bytes, static_cast<std::size_t>(local_.bytes())));

  Tensor whole(spec_.dtype == DType::bf16 ? DType::f32 : spec_.dtype, spec_.shape);
  // Ascending ranks visit the owed coordinates of every block in ascending order.
  for (Index rank = 0; rank < axes.ranks(); ++rank) {
    const std::string& part = parts[static_cast<std::size_t>(rank)];
    const Index original = first_replica(axes.coordinates(rank), spec_.sharding, axes);
    if (original != rank) {
      SHARDLINE_CHECK(part == parts[static_cast<std::size_t>(original)],
                      "array {} on mesh {}: ranks {} and {} should hold the same bits", to_string(), axes.to_string(),
                      original, rank);
      continue;
    }
    const std::vector<Range> ranges = box(spec_.shape, spec_.sharding, axes, rank);
    Tensor block(spec_.dtype, local_shape(spec_.shape, spec_.sharding, axes, rank));
    if (!part.empty()) std::memcpy(block.data(), part.data(), part.size());
    if (spec_.dtype != whole.dtype()) block = block.as(whole.dtype());
    if (axes.position_in_group(rank, spec_.sharding.unreduced) != 0) {
      Tensor so_far = whole.slice(ranges);
      reduce_into(so_far, block, spec_.sharding.reduce);
      block = so_far;
    }
    whole.assign(ranges, block);
  }
  return spec_.dtype == whole.dtype() ? whole : whole.as(spec_.dtype);
}

std::string DistTensor::to_string() const { return shardline::to_string(spec_.name, spec_.dims, spec_.sharding); }

}  // namespace shardline
