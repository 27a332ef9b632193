#include "tests/collectives/fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"

namespace shardline::collectives {
namespace {

/// Calls `set(i, value)` with `value(i)` converted to the tensor's element type.
template <class T>
void fill_as(Tensor& tensor, const std::function<double(Index)>& value) {
  for (Index i = 0; i < tensor.size(); ++i) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      tensor.view<T>()[i] = BFloat16(static_cast<float>(value(i)));
    } else {
      tensor.view<T>()[i] = static_cast<T>(value(i));
    }
  }
}

void fill(Tensor& tensor, const std::function<double(Index)>& value) {
  switch (tensor.dtype()) {
    case DType::f32:
      return fill_as<float>(tensor, value);
    case DType::f64:
      return fill_as<double>(tensor, value);
    case DType::bf16:
      return fill_as<BFloat16>(tensor, value);
    case DType::i32:
      return fill_as<std::int32_t>(tensor, value);
    case DType::i64:
      return fill_as<std::int64_t>(tensor, value);
    case DType::int8:
      break;  // no computation uses it
  }
  FAIL() << "no values of " << name_of(tensor.dtype());
}

double element(const Tensor& tensor, Index i) {
  switch (tensor.dtype()) {
    case DType::f32:
      return static_cast<double>(tensor.view<float>()[i]);
    case DType::f64:
      return tensor.view<double>()[i];
    case DType::bf16:
      return static_cast<double>(static_cast<float>(tensor.view<BFloat16>()[i]));
    case DType::i32:
      return tensor.view<std::int32_t>()[i];
    case DType::i64:
      return static_cast<double>(tensor.view<std::int64_t>()[i]);
    case DType::int8:
      break;
  }
  ADD_FAILURE() << "no values of " << name_of(tensor.dtype());
  return 0;
}

}  // namespace

const mpi::Communicator& world() {
  // Never freed: gtest has no hook for this before MPI ends.
  static const auto* comm = new mpi::Communicator(mpi::Communicator::world());
  return *comm;
}

std::vector<MeshCase> mesh_cases() {
  const Index ranks = world().size();
  std::vector<MeshCase> cases{{AbstractMesh({{"X", ranks}}), {"X"}}};
  if (ranks == 4 || ranks == 6) {
    const AbstractMesh mesh({{"X", 2}, {"Y", ranks / 2}, {"Z", 1}});
    for (const Axes& axes : {Axes{"X"}, Axes{"Y"}, Axes{"X", "Y"}, Axes{"Y", "Z", "X"}}) cases.push_back({mesh, axes});
  }
  return cases;
}

std::vector<Index> interesting_sizes(Index positions) {
  std::vector<Index> sizes{0, 1, positions - 1, positions, positions + 1, 13};
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::vector<Options> all_options() {
  std::vector<Options> all;
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::bidirectional, Algorithm::pairwise, Algorithm::doubling}) {
    all.push_back({.algorithm = algorithm});
    all.push_back({.algorithm = algorithm, .segment_bytes = 9});
  }
  all.push_back({.algorithm = Algorithm::automatic});
  all.push_back({.algorithm = Algorithm::native});
  return all;
}

std::vector<Options> reducing_options(DType dtype) {
  if (dtype != DType::bf16) return all_options();
  std::vector<Options> all;
  for (Options options : all_options()) {
    if (options.algorithm == Algorithm::native) continue;
    all.push_back(options);
    if (options.algorithm == Algorithm::pairwise) continue;
    options.wire = Wire::hop;
    all.push_back(options);
  }
  return all;
}

std::vector<Options> shift_options() {
  return {{.algorithm = Algorithm::ring},
          {.algorithm = Algorithm::ring, .segment_bytes = 9},
          {.algorithm = Algorithm::automatic},
          {.algorithm = Algorithm::native}};
}

std::vector<Options> reshard_options() {
  return {{.algorithm = Algorithm::pairwise},
          {.algorithm = Algorithm::pairwise, .segment_bytes = 9},
          {.algorithm = Algorithm::automatic},
          {.algorithm = Algorithm::native}};
}

std::string describe(const Options& options) {
  return fmt::format("{} by {} B over wire {}", name_of(options.algorithm), options.segment_bytes,
                     name_of(options.wire));
}

Tensor whole_numbers(DType dtype, const Shape& shape, const std::string& name) {
  const CounterRng rng(1, name);
  Tensor tensor(dtype, shape);
  fill(tensor, [&](Index i) { return static_cast<double>(rng.below(i, 17) - 8); });
  return tensor;
}

Tensor combine(ReduceOp op, const std::vector<Tensor>& arrays) {
  Tensor result(arrays.front().dtype(), arrays.front().shape());
  fill(result, [&](Index i) {
    double value = element(arrays.front(), i);
    for (std::size_t k = 1; k < arrays.size(); ++k) {
      const double other = element(arrays[k], i);
      value = op == ReduceOp::max ? std::max(value, other) : value + other;
    }
    // One division, in the precision of computations with this element type.
    const auto count = static_cast<double>(arrays.size());
    if (op != ReduceOp::avg) return value;
    return result.dtype() == DType::f64 ? value / count
                                        : static_cast<double>(static_cast<float>(value) / static_cast<float>(count));
  });
  return result;
}

Tensor spoiled(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  if (tensor.size() > 0) std::memset(tensor.data(), 0x5A, static_cast<std::size_t>(tensor.bytes()));
  return tensor;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0);
}

InPlace in_place(const Tensor& whole, Range range) {
  InPlace result{whole.clone(), {}};
  Shape shape = whole.shape();
  Index row = size_of(whole.dtype());
  for (std::size_t d = 1; d < shape.size(); ++d) row *= shape[d];
  shape[0] = range.size();
  const auto owner = std::make_shared<Tensor>(result.whole);
  if (element_count(shape) == 0) return {result.whole, Tensor(whole.dtype(), shape)};
  result.block = Tensor(whole.dtype(), shape, {owner, owner->data() + range.begin * row});
  return result;
}

Tensor cut_tensor(const Tensor& tensor, int dim, Range range) {
  std::vector<Range> ranges;
  for (const Index extent : tensor.shape()) ranges.push_back({0, extent});
  ranges[static_cast<std::size_t>(dim)] = range;
  return tensor.slice(ranges);
}

void for_each_mesh(const std::function<void(Stage&)>& check) {
  for (const MeshCase& mesh_case : mesh_cases()) {
    SCOPED_TRACE(mesh_case.name());
    Stage stage(mesh_case);
    check(stage);
  }
}

AbstractMesh two_axes() {
  const Index ranks = world().size();
  return ranks % 2 == 0 ? AbstractMesh({{"X", 2}, {"Y", ranks / 2}}) : AbstractMesh({{"X", 1}, {"Y", ranks}});
}

void expect_refused(const std::function<void()>& body, const std::vector<std::string>& parts) {
  try {
    body();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << "\"" << part << "\" is not in: " << message;
    }
  }
}

}  // namespace shardline::collectives
